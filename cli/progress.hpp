#pragma once

#include <string>
#include <thread>

namespace coffer::cli {

/// Says what a call that takes over a second is doing: a line with a clock on a terminal, one plain line elsewhere,
/// nothing for quick calls. The line is gone when this ends.
class Progress {
 public:
  /// `terminal`: whether standard error is one. `quiet`: say nothing at all.
  Progress(std::string what, bool terminal, bool quiet);

 private:
  std::jthread thread_;
};

}  // namespace coffer::cli
