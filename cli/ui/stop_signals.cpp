#include "ui/stop_signals.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

namespace coffer::cli::ui {

namespace {

sigset_t taken() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGWINCH})
    sigaddset(&set, signal);
  return set;
}

}  // namespace

StopSignals::StopSignals(std::function<void(int)> took) {
  const auto set = taken();
  allow(false);
  signals_ = Fd(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  stop_ = Fd(eventfd(0, EFD_CLOEXEC));
  thread_ = std::thread([this, took = std::move(took)] {
    std::array waits = {pollfd{.fd = signals_.get(), .events = POLLIN, .revents = 0},
                        pollfd{.fd = stop_.get(), .events = POLLIN, .revents = 0}};
    for (;;) {
      if (poll(waits.data(), waits.size(), -1) < 0 && errno != EINTR) return;
      if (waits[1].revents != 0) return;
      signalfd_siginfo info{};
      if (read(signals_.get(), &info, sizeof info) == sizeof info) took(static_cast<int>(info.ssi_signo));
    }
  });
}

StopSignals::~StopSignals() {
  const std::uint64_t one = 1;
  while (write(stop_.get(), &one, sizeof one) < 0 && errno == EINTR) {
  }
  thread_.join();
  allow(true);
}

void StopSignals::allow(bool allowed) {
  const auto set = taken();
  pthread_sigmask(allowed ? SIG_UNBLOCK : SIG_BLOCK, &set, nullptr);
}

}  // namespace coffer::cli::ui
