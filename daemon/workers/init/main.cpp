// PID 1 of every sandbox: starts the one command that /task/in/command names and is its parent.
//
// It is not dumpable, so that a child with the same uid cannot open /proc/1/mem and rewrite how the run ends; this is
// set before the first child exists. It returns what the command returned: its exit status, or 128 + N when signal N
// ended it. Its own failures are 125 (no valid command), 126 (not executable), 127 (not found), told on standard error.

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/fd.hpp"
#include "workers/record.hpp"

namespace {

constexpr const char* kCommandFile = "/task/in/command";
constexpr int kBadCommand = 125;
constexpr int kNotExecutable = 126;
constexpr int kNotFound = 127;

int fail(int code, const char* what, const char* detail = "") {
  std::fprintf(stderr, "coffer-init: %s%s\n", what, detail);
  return code;
}

bool readCommand(const char* path, std::string& text) {
  const coffer::Fd file(::open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY));
  struct stat status{};
  if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return false;
  char buffer[16384];
  for (;;) {
    const auto got = ::read(file.get(), buffer, sizeof buffer);
    if (got < 0) return false;
    if (got == 0) return true;
    text.append(buffer, static_cast<std::size_t>(got));
    if (text.size() > coffer::limits::kReportBytes) return false;
  }
}

std::vector<std::string> strings(const coffer::Records& command, std::string_view key) {
  std::vector<std::string> values;
  for (const auto value : command.all(key))
    values.emplace_back(value);
  return values;
}

std::vector<char*> pointers(std::vector<std::string>& values) {
  std::vector<char*> result;
  for (auto& value : values)
    result.push_back(value.data());
  result.push_back(nullptr);
  return result;
}

/// The child's side of the fork; comes back only by ending.
[[noreturn]] void become(char** argv, char** env, const std::string& cwd, const std::string& input) {
  ::setsid();
  sigset_t none;
  ::sigemptyset(&none);
  // systemd ignores SIGPIPE for its services; a pipeline of a build expects it.
  for (int number = 1; number < NSIG; ++number)
    ::signal(number, SIG_DFL);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  const int fd = ::open(input.c_str(), O_RDONLY | O_NOCTTY | O_CLOEXEC);
  if (fd < 0 || ::dup2(fd, STDIN_FILENO) < 0)
    ::_exit(fail(kBadCommand, "cannot open standard input: ", std::strerror(errno)));
  if (::chdir(cwd.c_str()) != 0)
    ::_exit(fail(kBadCommand, "cannot enter the working directory: ", std::strerror(errno)));
  ::environ = env;  // also where execvp looks for PATH
  ::execvp(argv[0], argv);
  ::_exit(fail(errno == ENOENT ? kNotFound : kNotExecutable, "cannot run the command: ", std::strerror(errno)));
}

}  // namespace

int main(int argc, char** argv) {
#ifndef COFFER_INIT_DUMPABLE
  if (::prctl(PR_SET_DUMPABLE, 0) != 0) return fail(kBadCommand, "cannot become undumpable");
#endif
  // What somebody else opened is nothing of the command's.
  if (::close_range(3, ~0U, 0) != 0) return fail(kBadCommand, "cannot close what was open");
  // It ends by killing everything it can see, so it must be in a PID namespace of its own.
  if (::getpid() != 1) return fail(kBadCommand, "runs only as PID 1 of a sandbox");

  std::string text;
  if (!readCommand(argc > 1 ? argv[1] : kCommandFile, text)) return fail(kBadCommand, "cannot read the command");
  const auto command = coffer::Records::parse(text);
  if (!command || !command->has("argv")) return fail(kBadCommand, "the command is not valid");
  auto words = strings(*command, "argv");
  auto environment = strings(*command, "env");
  const std::string cwd(command->has("cwd") ? command->get("cwd") : "/");
  const std::string input(command->has("stdin") ? command->get("stdin") : "/dev/null");
  auto arguments = pointers(words);
  auto variables = pointers(environment);

  sigset_t all;
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  const pid_t child = ::fork();
  if (child < 0) return fail(kBadCommand, "cannot fork: ", std::strerror(errno));
  if (child == 0) become(arguments.data(), variables.data(), cwd, input);

  sigset_t wanted;
  ::sigemptyset(&wanted);
  for (const int number : {SIGCHLD, SIGTERM, SIGINT, SIGHUP})
    ::sigaddset(&wanted, number);
  int result = -1;
  while (result < 0) {
    const int number = ::sigwaitinfo(&wanted, nullptr);
    if (number == SIGTERM || number == SIGINT || number == SIGHUP) {
      ::kill(child, number);
      continue;
    }
    int status = 0;
    for (pid_t ended = 0; (ended = ::waitpid(-1, &status, WNOHANG)) > 0;)
      if (ended == child) result = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  }
  // The command has ended, so its run has: what it left behind does not go on.
  ::kill(-1, SIGKILL);
  while (::waitpid(-1, nullptr, 0) > 0 || errno == EINTR) {
  }
  return result;
}
