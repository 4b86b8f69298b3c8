// Runs the built coffer-init as PID 1 of a PID namespace of the test's own, with another uid: needs root, and says so
// where it is not.

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <fcntl.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "workers/record.hpp"

namespace coffer {
namespace {

constexpr uid_t kUid = 2046820999;

class Init : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root to make a PID namespace";
    std::string name = "/tmp/init-test-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    top_ = name;
    ASSERT_EQ(::chmod(top_.c_str(), 0777), 0);
  }
  void TearDown() override {
    std::error_code ignored;
    if (!top_.empty()) std::filesystem::remove_all(top_, ignored);
  }

  /// Starts init with the command; returns a process whose exit status is init's.
  pid_t start(const Records& command, const char* program = COFFER_INIT) {
    std::ofstream(top_ + "/command", std::ios::binary) << command.serialize();
    const std::string file = top_ + "/command";
    const std::string output = top_ + "/output";
    const pid_t outer = ::fork();
    if (outer != 0) return outer;
    if (::unshare(CLONE_NEWPID | CLONE_NEWNS) != 0) ::_exit(200);
    const pid_t inner = ::fork();
    if (inner == 0) {
      const int out = ::open(output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
      ::dup2(out, 1);
      ::dup2(out, 2);
      ::close(out);
      if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
          ::mount("proc", "/proc", "proc", 0, nullptr) != 0 || ::setgroups(0, nullptr) != 0 || ::setgid(kUid) != 0 ||
          ::setuid(kUid) != 0)
        ::_exit(201);
      ::open("/dev/null", O_RDONLY);  // somebody's descriptor, without CLOEXEC
      ::execl(program, program, file.c_str(), nullptr);
      ::_exit(202);
    }
    // What the test wants to tell init, it tells this process, which knows who init is.
    sigset_t set;
    ::sigemptyset(&set);
    for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGCHLD})
      ::sigaddset(&set, number);
    ::sigprocmask(SIG_BLOCK, &set, nullptr);
    for (;;) {
      int status = 0;
      if (::waitpid(inner, &status, WNOHANG) == inner) ::_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 203);
      const int number = ::sigwaitinfo(&set, nullptr);
      if (number == SIGTERM || number == SIGINT || number == SIGHUP) ::kill(inner, number);
    }
  }

  static int end(pid_t process) {
    int status = 0;
    ::waitpid(process, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

  /// How many processes there are of the uid that commands run with.
  static int processes() {
    int count = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
      const auto name = entry.path().filename().string();
      struct stat status{};
      if (name.find_first_not_of("0123456789") == std::string::npos && ::stat(entry.path().c_str(), &status) == 0 &&
          status.st_uid == kUid)
        ++count;
    }
    return count;
  }

  int run(const Records& command, const char* program = COFFER_INIT) { return end(start(command, program)); }

  static Records shell(const std::string& script) {
    Records command;
    for (const auto* word : {"/bin/sh", "-c"})
      command.add("argv", word);
    command.add("argv", script);
    command.add("env", "PATH=/usr/bin:/bin");
    return command;
  }

  [[nodiscard]] std::string output() const {
    std::ostringstream text;
    text << std::ifstream(top_ + "/output").rdbuf();
    return text.str();
  }

  /// Waits for a file that the command makes.
  void waitFor(const std::string& name) const {
    for (int i = 0; i < 1000 && !std::filesystem::exists(top_ + "/" + name); ++i)
      ::usleep(10000);
    ASSERT_TRUE(std::filesystem::exists(top_ + "/" + name));
  }

  std::string top_;
};

TEST_F(Init, ReturnsWhatTheCommandReturned) {
  EXPECT_EQ(run(shell("exit 0")), 0);
  EXPECT_EQ(run(shell("exit 37")), 37);
  EXPECT_EQ(run(shell("kill -KILL $$")), 128 + SIGKILL);
  EXPECT_EQ(run(shell("kill -SEGV $$")), 128 + SIGSEGV);
}

TEST_F(Init, GivesTheCommandWhatTheFileSaysAndNothingElse) {
  Records command;
  for (const auto* word :
       {"/usr/bin/env", "sh", "-c", "env | sort; pwd; cat; ls -l /proc/self/fd | wc -l", "$HOME ${x}"})
    command.add("argv", word);
  for (const auto* variable : {"PATH=/usr/bin", "A=1 $B\n2"})
    command.add("env", variable);
  command.add("cwd", "/usr");
  command.add("stdin", top_ + "/input");
  std::ofstream(top_ + "/input") << "from the file\n";
  EXPECT_EQ(run(command), 0);
  EXPECT_EQ(output(), "2\nA=1 $B\nPATH=/usr/bin\nPWD=/usr\n/usr\nfrom the file\n5\n")
      << "0, 1, 2, ls's own and a heading";
}

TEST_F(Init, StandardInputIsEmptyWhenNoneIsNamed) { EXPECT_EQ(run(shell("test -z \"$(cat)\"")), 0); }

TEST_F(Init, FindsTheCommandInItsOwnPath) {
  Records command;
  command.add("argv", "sh");
  command.add("argv", "-c");
  command.add("argv", "exit 5");
  command.add("env", "PATH=/nonexistent:/usr/bin");
  EXPECT_EQ(run(command), 5);
}

TEST_F(Init, SaysWhyTheCommandDidNotStart) {
  Records none;
  none.add("argv", "/nonexistent/program");
  EXPECT_EQ(run(none), 127);
  Records directory;
  directory.add("argv", "/usr");
  EXPECT_EQ(run(directory), 126);
  Records place = shell("exit 0");
  place.add("cwd", "/nonexistent");
  EXPECT_EQ(run(place), 125);
  EXPECT_NE(output().find("working directory"), std::string::npos) << output();
  EXPECT_EQ(run({}), 125);
}

TEST_F(Init, ForwardsSignals) {
  for (const auto& [number, name] :
       std::initializer_list<std::pair<int, std::string>>{{SIGTERM, "TERM"}, {SIGINT, "INT"}, {SIGHUP, "HUP"}}) {
    const pid_t process =
        start(shell("trap 'exit 9' " + name + "; touch " + top_ + "/ready-" + name + "; while :; do sleep 0.05; done"));
    waitFor("ready-" + name);
    ::kill(process, number);
    EXPECT_EQ(end(process), 9) << name;
  }
  const pid_t process = start(shell("touch " + top_ + "/ready; exec sleep 100"));
  waitFor("ready");
  ::kill(process, SIGTERM);
  EXPECT_EQ(end(process), 128 + SIGTERM) << "a command without a handler ends too";
}

TEST_F(Init, ReapsWhatTheCommandOrphans) {
  EXPECT_EQ(run(shell("for i in 1 2 3 4 5; do (sleep 0.01 &) ; done; sleep 0.3; grep -l '^State:.Z' "
                      "/proc/[0-9]*/status 2>/dev/null | wc -l")),
            0);
  EXPECT_EQ(output(), "0\n");
}

TEST_F(Init, NothingOutlivesTheCommand) {
  EXPECT_EQ(
      run(shell("(trap '' TERM HUP; setsid sleep 100 &) ; (setsid sh -c 'while :; do :; done' &) ; sleep 0.1; exit 3")),
      3);
  EXPECT_EQ(processes(), 0);
}

TEST_F(Init, RunsOnlyAsPidOne) { EXPECT_EQ(WEXITSTATUS(std::system(COFFER_INIT " /dev/null 2>/dev/null")), 125); }

/// A child of the same uid that opens init's memory for writing, which is all it takes to make exit 1 an exit 0.
Records attack() {
  Records command;
  for (const auto* word :
       {"/usr/bin/python3", "-c",
        "import sys\ntry: open('/proc/1/mem', 'r+b', 0)\nexcept PermissionError: sys.exit(1)\nsys.exit(0)"})
    command.add("argv", word);
  return command;
}

TEST_F(Init, ItsMemoryIsClosedToItsChildren) { EXPECT_EQ(run(attack()), 1) << output(); }

TEST_F(Init, ItsMemoryIsOpenWhenItStaysDumpable) {
  EXPECT_EQ(run(attack(), COFFER_INIT_DUMPABLE), 0) << "so the test above holds nothing: " << output();
}

}  // namespace
}  // namespace coffer
