#include "workers/collector/line_reader.hpp"

#include <algorithm>
#include <cerrno>

#include <unistd.h>

#include "model/limits.hpp"

namespace coffer::collector {
namespace {

constexpr std::size_t kBlock = 256 * 1024;
constexpr std::size_t kShownOfLongLine = 200;

}  // namespace

bool LineReader::fill() {
  block_.resize(kBlock);
  ssize_t size = 0;
  do
    size = ::read(fd_, block_.data(), block_.size());
  while (size < 0 && errno == EINTR);
  block_.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  at_ = 0;
  bytes_ += block_.size();
  return !block_.empty();
}

std::optional<LineReader::Line> LineReader::next() {
  Line line;
  bool any = false;
  while (at_ < block_.size() || fill()) {
    any = true;
    const auto end = block_.find('\n', at_);
    const auto stop = std::min(end, block_.size());
    if (!line.tooLong) line.text.append(block_, at_, stop - at_);
    if (line.text.size() > limits::kOutputLineBytes) {
      line.tooLong = true;
      line.text.resize(kShownOfLongLine);
    }
    at_ = end == std::string::npos ? block_.size() : end + 1;
    if (end == std::string::npos) continue;
    if (line.text.ends_with('\r')) line.text.pop_back();
    return line;
  }
  return any ? std::optional(std::move(line)) : std::nullopt;
}

}  // namespace coffer::collector
