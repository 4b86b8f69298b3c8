#pragma once

#include <string>
#include <thread>

namespace coffer::cli {

/// Says what a call that takes over a second is doing: a line with a clock on the terminal, nothing for quick calls.
/// The line is gone when this ends.
class Progress {
 public:
  /// `visible`: whether standard error is a terminal with somebody before it.
  Progress(std::string what, bool visible);

 private:
  std::jthread thread_;
};

}  // namespace coffer::cli
