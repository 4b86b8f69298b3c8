#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace coffer::collector {

/// Writes what happened in a turn as text for people. Everything goes through visibleText(): a transcript can be put on
/// a terminal. Over its limit the middle is left out and the transcript says so: a person looks for the beginning and
/// the end.
class Transcript {
 public:
  /// The descriptor stays the caller's.
  explicit Transcript(int fd) : fd_(fd) {}

  void message(std::string_view text);
  void command(std::string_view text);
  void output(std::string_view text);
  void exitCode(std::string_view code);
  void error(std::string_view text);
  /// A line of ours about the transcript.
  void note(std::string_view text);
  /// Writes what is held back. False when something could not be written.
  bool finish();

  [[nodiscard]] std::uint64_t leftOut() const { return leftOut_; }

 private:
  void block(std::string_view first, std::string_view other, std::string_view text);
  void put(std::string text);
  void write(std::string_view text);

  int fd_;
  std::uint64_t written_ = 0;
  std::string tail_;
  std::uint64_t leftOut_ = 0;
  bool good_ = true;
};

}  // namespace coffer::collector
