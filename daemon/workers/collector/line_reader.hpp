#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace coffer::collector {

/// Reads lines of a file of any length, holding at most one line of at most limits::kOutputLineBytes.
class LineReader {
 public:
  struct Line {
    std::string text;  ///< without its end; the beginning only, when it was too long
    bool tooLong = false;
  };

  /// The descriptor stays the caller's and is read from where it stands.
  explicit LineReader(int fd) : fd_(fd) {}

  /// The next line, or nothing at the end of the file (or where it cannot be read any more).
  std::optional<Line> next();
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

 private:
  bool fill();

  int fd_;
  std::string block_;
  std::size_t at_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace coffer::collector
