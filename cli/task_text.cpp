#include "task_text.hpp"

#include "dictionary.hpp"
#include "model/limits.hpp"

namespace coffer::cli {

namespace {

constexpr std::uint32_t kPieceBytes = 1024 * 1024;
/// A transcript that grows has another digest with every piece; that is no reason to read it for ever.
constexpr int kRestarts = 3;
/// The end of a log is looked for no more exactly than this: it grows meanwhile.
constexpr std::uint64_t kEndBytes = 64UL * 1024;
/// No log is longer, whatever the service says.
constexpr std::uint64_t kFurthest = std::uint64_t{1} << 40U;

}  // namespace

std::uint64_t beginOfLast(TaskClient& task, const Dictionary& options, std::uint64_t most) {
  const auto reaches = [&](std::uint64_t offset) {
    return !std::get<0>(task.readText("log", offset, limits::kPieceLeast, options)).empty();
  };
  if (!reaches(most)) return 0;
  auto within = most;
  auto beyond = most * 2;
  while (beyond < kFurthest && reaches(beyond)) {
    within = beyond;
    beyond *= 2;
  }
  while (beyond - within > kEndBytes) {
    const auto middle = within + (beyond - within) / 2;
    (reaches(middle) ? within : beyond) = middle;
  }
  return beyond - most;
}

TaskText readTaskText(TaskClient& task, const std::string& what, std::optional<std::uint64_t> run) {
  Dictionary options;
  if (run) options.emplace("run", sdbus::Variant(*run));
  TaskText result;
  std::uint64_t offset = what == "log" ? beginOfLast(task, options, limits::kLogShownBytes) : 0;
  result.late = offset != 0;
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
    // A late beginning is in the middle of a line.
    const auto line = result.late && result.text.empty() ? text.find('\n') + 1 : 0;
    result.text += text.substr(line);
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
