#include "process.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/fd.hpp"
#include "terminal.hpp"

namespace coffer::cli {

namespace {

constexpr int kNotThere = 127;

std::vector<char*> argumentsOf(const std::vector<std::string>& command) {
  std::vector<char*> arguments;
  arguments.reserve(command.size() + 1);
  for (const auto& word : command)
    arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  return arguments;
}

int waitFor(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR) return kNotThere;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

struct Pipe {
  Fd read;
  Fd write;
};

std::optional<Pipe> makePipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) < 0) return std::nullopt;
  return Pipe{Fd(ends[0]), Fd(ends[1])};
}

/// Keyboard signals go to the program in front, not to us, while it runs.
class IgnoreKeyboard {
 public:
  IgnoreKeyboard() {
    for (std::size_t i = 0; i < kSignals.size(); ++i)
      before_[i] = std::signal(kSignals[i], SIG_IGN);
  }
  IgnoreKeyboard(const IgnoreKeyboard&) = delete;
  IgnoreKeyboard& operator=(const IgnoreKeyboard&) = delete;
  ~IgnoreKeyboard() {
    for (std::size_t i = 0; i < kSignals.size(); ++i)
      std::signal(kSignals[i], before_[i]);
  }

  static void restoreInChild() {
    for (const int signal : kSignals)
      std::signal(signal, SIG_DFL);
  }

 private:
  static constexpr std::array kSignals = {SIGINT, SIGQUIT, SIGPIPE};
  std::array<void (*)(int), kSignals.size()> before_{};
};

}  // namespace

std::optional<std::string> outputOf(const std::vector<std::string>& command, const std::string& directory) {
  auto ends = makePipe();
  if (!ends) return std::nullopt;
  const auto arguments = argumentsOf(command);
  const pid_t child = fork();
  if (child < 0) return std::nullopt;
  if (child == 0) {
    const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (nothing < 0 || dup2(nothing, STDIN_FILENO) < 0 || dup2(nothing, STDERR_FILENO) < 0) _exit(kNotThere);
    if (dup2(ends->write.get(), STDOUT_FILENO) < 0) _exit(kNotThere);
    if (chdir(directory.c_str()) < 0) _exit(kNotThere);
    execvp(arguments.front(), arguments.data());
    _exit(kNotThere);
  }
  ends->write.reset();
  std::string text;
  std::array<char, 4096> buffer{};
  for (;;) {
    const auto got = read(ends->read.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0 || text.size() > kOutputBytes) break;
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
  ends->read.reset();
  // Who was cut off did not fail.
  if (waitFor(child) != 0 && text.size() <= kOutputBytes) return std::nullopt;
  // Of a path that ends in a new line, this is not it.
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

int runInteractive(const std::vector<std::string>& command) {
  const auto arguments = argumentsOf(command);
  const IgnoreKeyboard ignore;
  const pid_t child = fork();
  if (child < 0) return kNotThere;
  if (child == 0) {
    IgnoreKeyboard::restoreInChild();
    execvp(arguments.front(), arguments.data());
    _exit(kNotThere);
  }
  return waitFor(child);
}

bool runWithInput(const std::vector<std::string>& command, std::string_view input,
                  const std::vector<std::string>& defaults) {
  auto ends = makePipe();
  if (!ends) return false;
  const auto arguments = argumentsOf(command);
  const IgnoreKeyboard ignore;
  const pid_t child = fork();
  if (child < 0) return false;
  if (child == 0) {
    IgnoreKeyboard::restoreInChild();
    dup2(ends->read.get(), STDIN_FILENO);
    for (const auto& entry : defaults) {
      const auto equals = entry.find('=');
      setenv(entry.substr(0, equals).c_str(), entry.substr(equals + 1).c_str(), 0);
    }
    execvp(arguments.front(), arguments.data());
    _exit(kNotThere);
  }
  ends->read.reset();
  writeAll(ends->write.get(), input);
  ends->write.reset();
  return waitFor(child) != kNotThere;
}

}  // namespace coffer::cli
