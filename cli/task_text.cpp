#include "task_text.hpp"

#include "dictionary.hpp"
#include "model/limits.hpp"

namespace coffer::cli {

namespace {

constexpr std::uint32_t kPieceBytes = 1024 * 1024;
/// A transcript that grows has another digest with every piece; that is no reason to read it for ever.
constexpr int kRestarts = 3;

}  // namespace

TaskText readTaskText(TaskClient& task, const std::string& what, std::optional<std::uint64_t> run) {
  Dictionary options;
  if (run) options.emplace("run", sdbus::Variant(*run));
  TaskText result;
  std::uint64_t offset = 0;
  for (int restarts = 0;;) {
    const auto [text, next, digest] = task.readText(what, offset, kPieceBytes, options);
    // The text changed between two pieces: pieces of two texts are no text, so it is read again from its beginning.
    if (offset != 0 && digest != result.digest) {
      if (restarts == kRestarts) {
        result.cut = true;
        return result;
      }
      ++restarts;
      result = {};
      offset = 0;
      continue;
    }
    result.text += text;
    result.digest = digest;
    if (next <= offset) return result;
    if (result.text.size() > limits::kLogShownBytes) {
      result.cut = true;
      return result;
    }
    offset = next;
  }
}

}  // namespace coffer::cli
