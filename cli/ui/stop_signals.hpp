#pragma once

#include <functional>
#include <thread>

#include "os/fd.hpp"

namespace coffer::cli::ui {

/// Takes the signals that would end or stop the program, so that the terminal is put in order first, and the one that
/// says that it has another size. While it lives they are blocked in the thread that made it and in all it starts; make
/// it before them.
class StopSignals {
 public:
  /// `took` is called, on a thread of its own, with SIGINT, SIGQUIT, SIGTERM, SIGTSTP or SIGWINCH. (After SIGHUP
  /// there is no terminal to put in order.)
  explicit StopSignals(std::function<void(int signal)> took);
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;
  ~StopSignals();

  /// Lets this thread, and what it starts, have them again; for a program in front.
  static void allow(bool allowed);

 private:
  Fd signals_;
  Fd stop_;
  std::thread thread_;
};

}  // namespace coffer::cli::ui
