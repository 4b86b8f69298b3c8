#pragma once

#include <csignal>
#include <cstdint>

#include <unistd.h>

namespace coffer::repository {

/// Stands between every two writes of a landing, so that a test can end the run between any two of them.
class Writes {
 public:
  explicit Writes(std::uint64_t stop_after) : stop_after_(stop_after) {}
  /// To be called before each write that others could see.
  void next() {
    if (stop_after_ > 0 && ++count_ == stop_after_) ::kill(::getpid(), SIGKILL);
  }

 private:
  std::uint64_t stop_after_;
  std::uint64_t count_ = 0;
};

}  // namespace coffer::repository
