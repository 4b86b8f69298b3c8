#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace coffer::engine {

/// The line that stands where so many bytes of a text are missing.
inline std::string leftOut(std::size_t bytes) {
  return "[" + std::to_string(bytes) + " bytes before this are left out]\n";
}

/// A text that grows and of which at most `limit` bytes are shown: its end, and a line that says how much is missing.
class ShownEnd {
 public:
  explicit ShownEnd(std::size_t limit) : limit_(limit) {}

  void add(std::string_view text) {
    end_ += text;
    if (end_.size() + (missing_ ? kLine : 0) > limit_) cut(limit_ - kLine);
  }

  [[nodiscard]] std::string text() const { return missing_ ? leftOut(missing_) + end_ : end_; }

 private:
  static constexpr std::size_t kLine = 64;  ///< longer than leftOut() ever is

  // At the end of a line, where there is one: no character and no command's head is cut in two.
  void cut(std::size_t most) {
    auto from = end_.size() - most;
    if (const auto line = end_.find('\n', from); line < end_.size() - 1) from = line + 1;
    missing_ += from;
    end_.erase(0, from);
  }

  std::size_t limit_;
  std::size_t missing_ = 0;
  std::string end_;
};

}  // namespace coffer::engine
