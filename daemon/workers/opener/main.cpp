// Opens one directory as the user whose uid this process has, so that the kernel alone says what that user may reach,
// and hands the descriptor back: with those of the repository when the directory is a linked worktree of one. It does
// nothing else: what it opened is cloned, bound and read by others.

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/fd.hpp"

namespace {

using coffer::Fd;

constexpr int kSocket = 3;           // SD_LISTEN_FDS_START: the one descriptor this unit is given
constexpr std::size_t kPath = 4096;  // PATH_MAX
constexpr int kDirectory = O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;

/// What a file of git's own says in its one line; empty when there is no such regular file, or it says more than a
/// path.
std::string lineOf(int directory, const char* name) {
  const Fd file(::openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  struct stat status{};
  char text[kPath + 64];
  if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
  const auto size = ::read(file.get(), text, sizeof text);
  if (size <= 0 || static_cast<std::size_t>(size) == sizeof text) return {};
  std::string line(text, static_cast<std::size_t>(size));
  while (line.ends_with('\n') || line.ends_with('\r'))
    line.pop_back();
  return line.contains('\n') || line.contains('\0') ? std::string() : line;
}

bool same(int one, int other) {
  struct stat a{}, b{};
  return ::fstat(one, &a) == 0 && ::fstat(other, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

struct Worktree {
  Fd common;  ///< the repository's git directory
  Fd own;     ///< the worktree's own, which is one of `worktrees/` in it
};

/// Follows a .git that is a file. Nothing, which is answered with ENOLINK, unless it leads to a worktree's entry in a
/// repository, and that entry back to this very directory: text alone, which anybody may have written, leads nowhere.
Worktree follow(int directory) {
  constexpr std::string_view kStart = "gitdir: ";
  const auto text = lineOf(directory, ".git");
  if (!text.starts_with(kStart)) return {};
  const auto place = text.substr(kStart.size());
  Worktree found;
  found.own.reset(::openat(directory, place.c_str(), kDirectory));
  if (!found.own) return {};
  found.common.reset(::openat(found.own.get(), lineOf(found.own.get(), "commondir").c_str(), kDirectory));
  if (!found.common) return {};
  const auto entry = "worktrees/" + place.substr(place.rfind('/') + 1);
  const Fd listed(::openat(found.common.get(), entry.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  auto back = lineOf(found.own.get(), "gitdir");
  if (!back.ends_with("/.git")) return {};
  back.resize(back.rfind('/') + 1);
  const Fd there(::openat(found.own.get(), back.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!same(listed.get(), found.own.get()) || !same(there.get(), directory)) return {};
  return found;
}

}  // namespace

int main() {
  char path[kPath + 1];
  const auto size = ::recv(kSocket, path, kPath, 0);
  if (size <= 0) return 1;
  path[size] = '\0';

  const Fd directory(std::strlen(path) == static_cast<std::size_t>(size) ? ::open(path, kDirectory)
                                                                         : (errno = EINVAL, -1));
  std::int32_t number = directory ? 0 : errno;
  Worktree worktree;
  struct stat status{};
  if (directory && ::fstatat(directory.get(), ".git", &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(status.st_mode)) {
    worktree = follow(directory.get());
    if (!worktree.own) number = ENOLINK;
  }
  const int fds[] = {directory.get(), worktree.common.get(), worktree.own.get()};
  const std::size_t bytes = (worktree.own ? 3 : 1) * sizeof(int);

  iovec data{&number, sizeof number};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof fds)] = {};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  if (number == 0) {
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(bytes);
    auto* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(bytes);
    std::memcpy(CMSG_DATA(header), fds, bytes);
  }
  if (::sendmsg(kSocket, &message, MSG_NOSIGNAL) < 0) return 1;
  // The descriptors are in flight until the other side has taken them; it says so by closing.
  char last = 0;
  static_cast<void>(::recv(kSocket, &last, 1, 0));
  return 0;
}
