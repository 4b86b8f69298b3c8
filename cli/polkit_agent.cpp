#include "polkit_agent.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <string>

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/fd.hpp"

namespace coffer::cli {

namespace {

constexpr const char* kAgent = "/usr/bin/pkttyagent";
/// An agent that has not registered by then will not; the call then simply has no one to ask.
constexpr int kReadyMilliseconds = 5000;

}  // namespace

PolkitAgent::PolkitAgent() {
  if (geteuid() == 0 || isatty(STDIN_FILENO) != 1 || access(kAgent, X_OK) < 0) return;
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) < 0) return;
  const Fd ready(ends[0]);
  Fd notify(ends[1]);
  const auto number = std::to_string(notify.get());
  const pid_t parent = getpid();
  child_ = fork();
  if (child_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) _exit(0);
    fcntl(notify.get(), F_SETFD, 0);
    // Our standard output may be a pipe that someone reads to its end.
    const int terminal = open("/dev/tty", O_RDWR | O_CLOEXEC);
    if (terminal >= 0) {
      dup2(terminal, STDOUT_FILENO);
      dup2(terminal, STDERR_FILENO);
    }
    execl(kAgent, kAgent, "--notify-fd", number.c_str(), "--fallback", nullptr);
    _exit(1);
  }
  notify.reset();
  if (child_ < 0) return;
  // It closes its end when it has registered, or dies.
  pollfd wait{.fd = ready.get(), .events = POLLIN, .revents = 0};
  while (poll(&wait, 1, kReadyMilliseconds) < 0 && errno == EINTR) {
  }
}

PolkitAgent::~PolkitAgent() {
  if (child_ <= 0) return;
  kill(child_, SIGTERM);
  // A stopped one must be woken to hear that.
  kill(child_, SIGCONT);
  while (waitpid(child_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace coffer::cli
