#include "progress.hpp"

#include <chrono>
#include <condition_variable>
#include <csignal>
#include <format>
#include <mutex>

#include <pthread.h>
#include <termios.h>
#include <unistd.h>

#include "format.hpp"
#include "terminal.hpp"

namespace coffer::cli {

namespace {

constexpr std::chrono::seconds kPatience{1};

/// A password is being typed (the authentication agent has turned the echo off): writing now would hide its prompt.
bool passwordPrompt() {
  termios state{};
  return tcgetattr(STDERR_FILENO, &state) == 0 && (state.c_lflag & ECHO) == 0;
}

void show(const std::stop_token& stop, const std::string& what) {
  std::mutex mutex;
  std::condition_variable_any wake;
  std::unique_lock lock(mutex);
  const auto begin = std::chrono::steady_clock::now();
  bool shown = false;
  while (!wake.wait_for(lock, stop, kPatience, [&] { return stop.stop_requested(); })) {
    if (stop.stop_requested()) break;
    if (passwordPrompt()) continue;
    const auto passed = std::chrono::duration_cast<Microseconds>(std::chrono::steady_clock::now() - begin);
    writeAll(STDERR_FILENO, std::format("\r\x1b[K{} ... {}", what, clockTime(passed)));
    shown = true;
  }
  if (shown) writeAll(STDERR_FILENO, "\r\x1b[K");
}

}  // namespace

Progress::Progress(std::string what, bool visible) {
  if (!visible) return;
  // Signals are the main thread's business.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::jthread([what = std::move(what)](const std::stop_token& stop) { show(stop, what); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace coffer::cli
