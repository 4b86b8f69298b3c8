#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "clients.hpp"

namespace coffer::cli::ui {

/// What a run that goes on has printed so far, as text for a person: a turn's output read by the rules of its agent's
/// descriptor on this machine, line by line as it is when there is none; a gate's as it is. The text is visible. What
/// is printed is the agent's to choose: a line above limits::kOutputLineBytes is only told of, and no more is shown
/// than the last limits::kLogShownBytes.
class LiveOutput {
 public:
  /// `agent`: whose output it is, or empty.
  LiveOutput(std::uint64_t run, const std::string& agent);
  LiveOutput(const LiveOutput&) = delete;
  LiveOutput& operator=(const LiveOutput&) = delete;
  ~LiveOutput();

  [[nodiscard]] std::uint64_t run() const { return run_; }
  /// Finds out where to read from, at first and whenever as much was read as is shown; true when what was shown until
  /// then is to be forgotten. To be called before every read().
  bool begin(TaskClient& task);
  /// What is shown does not begin where the output does.
  [[nodiscard]] bool late() const { return begin_ != 0; }
  /// What came since the last time, whole lines only. One call of the service; `more` is set when another one at once
  /// would give more.
  std::string read(TaskClient& task, bool& more);

  /// What was printed, as the service gave it: from the same place on as before, with more at its end.
  std::string take(std::string_view text, bool whole);

 private:
  struct Reader;
  [[nodiscard]] std::string shown(const std::string& lines) const;

  std::uint64_t run_;
  std::unique_ptr<Reader> reader_;  ///< none: shown as it is
  bool begun_ = false;
  std::uint64_t begin_ = 0;   ///< where what is shown begins
  std::uint64_t offset_ = 0;  ///< where the piece begins that is read again and again while it grows
  std::size_t taken_ = 0;     ///< characters of it that were taken
  std::string rest_;          ///< a line whose end has not come
  bool skipping_ = false;     ///< it was too long, and its end has still not come
};

}  // namespace coffer::cli::ui
