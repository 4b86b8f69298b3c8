#include "os/beneath.hpp"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "os/tree_remover.hpp"

namespace coffer::os {
namespace {

std::unexpected<Error> failed(std::string_view what, std::string_view path, int number) {
  const auto code = number == ENOENT                       ? ErrorCode::NotFound
                    : number == ENOSPC || number == EDQUOT ? ErrorCode::NoSpace
                    : number == ELOOP || number == EXDEV   ? ErrorCode::Sandbox
                                                           : ErrorCode::Internal;
  return std::unexpected(
      Error{code, "cannot " + std::string(what) + " " + std::string(path) + ": " + std::strerror(number)});
}

}  // namespace

std::expected<Fd, Error> openBeneath(int directory, std::string_view path, int flags, mode_t mode) {
  const std::string name(path);
  struct open_how how{};
  how.flags = static_cast<__u64>(flags | O_CLOEXEC);
  how.mode = mode;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  Fd fd(static_cast<int>(::syscall(SYS_openat2, directory, name.c_str(), &how, sizeof how)));
  if (!fd) return failed("open", path, errno);
  return fd;
}

std::expected<Fd, Error> openDirectory(const std::string& path) {
  Fd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd) return failed("open", path, errno);
  return fd;
}

std::expected<std::string, Error> readBeneath(int directory, std::string_view path, std::size_t limit) {
  // O_NONBLOCK: a pipe in the place of the file must not hold us up before fstat() has told what it is.
  auto fd = openBeneath(directory, path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
  if (!fd) return std::unexpected(fd.error());
  struct stat status{};
  if (::fstat(fd->get(), &status) < 0) return failed("look at", path, errno);
  if (!S_ISREG(status.st_mode) || status.st_nlink != 1)
    return std::unexpected(Error{ErrorCode::Sandbox, std::string(path) + " is not a plain file"});
  if (static_cast<std::size_t>(status.st_size) > limit)
    return std::unexpected(
        Error{ErrorCode::TooLarge, std::string(path) + " is longer than " + std::to_string(limit) + " bytes"});
  std::string bytes(static_cast<std::size_t>(status.st_size), '\0');
  std::size_t have = 0;
  while (have < bytes.size()) {
    const auto got = ::read(fd->get(), bytes.data() + have, bytes.size() - have);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failed("read", path, errno);
    if (got == 0) break;
    have += static_cast<std::size_t>(got);
  }
  bytes.resize(have);
  return bytes;
}

std::expected<void, Error> writeFile(int directory, const std::string& name, std::string_view bytes, mode_t mode,
                                     bool durable) {
  const std::string temporary = name + ".new";
  Fd fd(::openat(directory, temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, mode));
  if (!fd) return failed("write", name, errno);
  if (::fchmod(fd.get(), mode) < 0) return failed("write", name, errno);
  while (!bytes.empty()) {
    const auto put = ::write(fd.get(), bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) {
      const int number = errno;
      ::unlinkat(directory, temporary.c_str(), 0);
      return failed("write", name, number);
    }
    bytes.remove_prefix(static_cast<std::size_t>(put));
  }
  if (durable && ::fsync(fd.get()) < 0) return failed("write", name, errno);
  if (::renameat(directory, temporary.c_str(), directory, name.c_str()) < 0) return failed("write", name, errno);
  if (durable && ::fsync(directory) < 0) return failed("write", name, errno);
  return {};
}

std::expected<Fd, Error> makeDirectory(int parent, const std::string& name, mode_t mode, uid_t uid, gid_t gid) {
  const bool made = ::mkdirat(parent, name.c_str(), 0700) == 0;
  if (!made && errno != EEXIST) return failed("make", name, errno);
  Fd fd(::openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd) return failed("open", name, errno);
  if (made) {
    if (::fchmod(fd.get(), mode) < 0) return failed("set the mode of", name, errno);
    if ((uid != 0 || gid != 0) && ::fchown(fd.get(), uid, gid) < 0) return failed("give away", name, errno);
  }
  return fd;
}

std::expected<void, Error> removeTree(int parent, const std::string& name) {
  if (::unlinkat(parent, name.c_str(), 0) == 0 || errno == ENOENT) return {};
  if (errno != EISDIR && errno != EPERM) return failed("remove", name, errno);
  const auto gone = removeDirectory(parent, name, Foreign::TakeOver);
  if (gone) return {};
  const auto& [number, what] = gone.error();
  if (number == EBUSY || number == EXDEV)
    return std::unexpected(Error{ErrorCode::Sandbox, "something is mounted in " + name + ", which is to be removed"});
  return failed("remove", name + " (" + what + ")", number);
}

}  // namespace coffer::os
