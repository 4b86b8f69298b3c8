#include "walls/user_namespace.hpp"

#include <csignal>
#include <string>

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace coffer::walls {

namespace {

/// A child that sits in a new user namespace until this object ends.
class Sitter {
 public:
  Sitter() {
    // A plain clone of a process whose threads may hold locks: the child does nothing but wait for its end.
    pid_ = static_cast<pid_t>(::syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, nullptr, nullptr, nullptr, nullptr));
    if (pid_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      for (;;)
        ::pause();
    }
  }
  Sitter(const Sitter&) = delete;
  Sitter& operator=(const Sitter&) = delete;
  ~Sitter() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
};

Result<void> writeMap(int process, const char* file, std::uint32_t from, std::uint32_t to) {
  const Fd map(::openat(process, file, O_WRONLY | O_CLOEXEC));
  if (!map) return failed(std::string("opening ") + file);
  const std::string line = std::to_string(from) + " " + std::to_string(to) + " 1\n";
  if (::write(map.get(), line.data(), line.size()) != static_cast<ssize_t>(line.size()))
    return failed(std::string("writing ") + file);
  return {};
}

}  // namespace

Result<Fd> makeUserNamespace(const OwnerMap& map) {
  const Sitter sitter;
  if (sitter.pid() < 0) return failed("making a user namespace");
  const Fd process(::open(("/proc/" + std::to_string(sitter.pid())).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!process) return failed("opening a process");
  if (auto uids = writeMap(process.get(), "uid_map", map.fromUid, map.to); !uids) return std::unexpected(uids.error());
  if (auto gids = writeMap(process.get(), "gid_map", map.fromGid, map.to); !gids) return std::unexpected(gids.error());
  Fd ns(::openat(process.get(), "ns/user", O_RDONLY | O_CLOEXEC));
  if (!ns) return failed("opening a user namespace");
  return ns;
}

}  // namespace coffer::walls
