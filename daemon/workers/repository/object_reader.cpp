#include "workers/repository/object_reader.hpp"

#include <charconv>

namespace coffer::repository {

bool ObjectReader::feed(std::string_view piece) {
  buffer_ += piece;
  std::string_view rest = buffer_;
  for (;;) {
    const auto line_end = rest.find('\n');
    if (line_end == std::string_view::npos) {
      if (rest.size() > 256) return false;
      break;
    }
    const auto line = rest.substr(0, line_end);
    const auto first = line.find(' ');
    const auto second = line.find(' ', first == std::string_view::npos ? first : first + 1);
    if (first != 40 || second == std::string_view::npos) return false;
    const auto digits = line.substr(second + 1);
    std::size_t size = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), size);
    if (error != std::errc{} || end != digits.data() + digits.size() || size > limit_) return false;
    if (rest.size() - line_end - 1 < size + 1) break;
    if (!take_(line.substr(0, first), line.substr(first + 1, second - first - 1), rest.substr(line_end + 1, size)))
      return false;
    rest.remove_prefix(line_end + 1 + size + 1);
  }
  buffer_.erase(0, buffer_.size() - rest.size());
  return true;
}

}  // namespace coffer::repository
