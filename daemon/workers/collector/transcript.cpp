#include "workers/collector/transcript.hpp"

#include <cerrno>

#include <unistd.h>

#include "model/limits.hpp"
#include "model/visible_text.hpp"

namespace coffer::collector {
namespace {

constexpr std::size_t kHead = limits::kTranscriptBytes / 2;
constexpr std::size_t kTail = limits::kTranscriptBytes / 2;

/// The first and the last part of a long text, for one entry.
std::string shortened(std::string_view text) {
  if (text.size() <= limits::kTranscriptEntryBytes) return std::string(text);
  const auto half = limits::kTranscriptEntryBytes / 2;
  return std::string(text.substr(0, half)) + "\n... " + std::to_string(text.size() - 2 * half) +
         " bytes left out ...\n" + std::string(text.substr(text.size() - half));
}

}  // namespace

void Transcript::write(std::string_view text) {
  while (!text.empty() && good_) {
    const auto size = ::write(fd_, text.data(), text.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) good_ = false;
    if (size > 0) text.remove_prefix(static_cast<std::size_t>(size));
  }
}

void Transcript::put(std::string text) {
  if (written_ + text.size() <= kHead && tail_.empty()) {
    written_ += text.size();
    write(text);
    return;
  }
  tail_ += text;
  if (tail_.size() <= 2 * kTail) return;
  // Cut at a line, so that no character is cut.
  const auto cut = tail_.find('\n', tail_.size() - kTail);
  const auto drop = cut == std::string::npos ? tail_.size() : cut + 1;
  leftOut_ += drop;
  tail_.erase(0, drop);
}

void Transcript::block(std::string_view first, std::string_view other, std::string_view text) {
  const auto visible = model::visibleText(shortened(text));
  std::string result;
  std::size_t from = 0;
  while (from < visible.size()) {
    auto end = visible.find('\n', from);
    if (end == std::string::npos) end = visible.size();
    result += from == 0 ? first : other;
    result.append(visible, from, end - from);
    result += '\n';
    from = end + 1;
  }
  put(std::move(result));
}

void Transcript::message(std::string_view text) { block("", "", text); }
void Transcript::command(std::string_view text) { block("$ ", "  ", text); }
void Transcript::output(std::string_view text) { block("  ", "  ", text); }
void Transcript::exitCode(std::string_view code) { block("  exit ", "  ", code); }
void Transcript::error(std::string_view text) { block("! ", "  ", text); }
void Transcript::note(std::string_view text) { block("# ", "# ", text); }

bool Transcript::finish() {
  if (tail_.size() > kTail) {
    const auto cut = tail_.find('\n', tail_.size() - kTail);
    const auto drop = cut == std::string::npos ? 0 : cut + 1;
    leftOut_ += drop;
    tail_.erase(0, drop);
  }
  if (leftOut_ > 0) write("# " + std::to_string(leftOut_) + " bytes of the transcript left out here\n");
  write(tail_);
  tail_.clear();
  return good_;
}

}  // namespace coffer::collector
