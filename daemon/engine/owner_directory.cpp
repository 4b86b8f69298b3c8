#include "engine/owner_directory.hpp"

#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include <sys/socket.h>
#include <sys/stat.h>

#include "engine/places.hpp"
#include "os/event.hpp"
#include "sandbox/sealed.hpp"

namespace coffer::engine {
namespace {

// A directory behind an automount or a slow network file system; longer is a directory that does not answer.
constexpr std::uint64_t kOpenTimeoutUs = 20'000'000;

std::expected<Fd, Error> receive(int socket, const std::string& path) {
  std::int32_t number = EIO;
  iovec data{&number, sizeof number};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  const auto size = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  Fd fd;
  for (auto* header = CMSG_FIRSTHDR(&message); header; header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    int received = -1;
    std::memcpy(&received, CMSG_DATA(header), sizeof received);
    fd.reset(received);
  }
  if (size != sizeof number)
    return std::unexpected(
        Error{ErrorCode::Environment, "the unit that opens " + path + " as its owner ended without an answer"});
  if (number == EACCES || number == EPERM)
    return std::unexpected(Error{ErrorCode::AccessDenied, "you may not open " + path + ": " + std::strerror(number)});
  if (number != 0 || !fd)
    return std::unexpected(
        Error{ErrorCode::NoRepository, "cannot open " + path + ": " + std::strerror(number ? number : EBADF)});
  // What the user's process sends is the user's word: it must be a directory before anybody clones it.
  struct stat status{};
  if (::fstat(fd.get(), &status) < 0 || !S_ISDIR(status.st_mode))
    return std::unexpected(Error{ErrorCode::NoRepository, path + " is not a directory"});
  return fd;
}

}  // namespace

Async<std::expected<Fd, Error>> openAsOwner(sd_event* event, sandbox::Systemd& systemd, std::string unit,
                                            std::uint32_t owner, std::string path) {
  if (owner == 0)
    co_return std::unexpected(Error{
        ErrorCode::AccessDenied,
        "root owns no project: add it as the user whose repository it is, so that the kernel keeps it to that user"});
  int pair[2] = {-1, -1};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
    co_return std::unexpected(Error{ErrorCode::Internal, std::string("cannot make a socket: ") + std::strerror(errno)});
  Fd mine(pair[0]);
  auto theirs = std::make_shared<Fd>(pair[1]);
  if (::send(mine.get(), path.data(), path.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(path.size()))
    co_return std::unexpected(Error{ErrorCode::InvalidArgument, "the directory's path is too long"});

  auto opener =
      std::make_shared<sandbox::Unit>(sandbox::openerUnit(unit, ownerSlice(owner), owner, {"request", theirs}));
  auto started = co_await systemd.startUnit(opener);
  if (!started) {
    co_await systemd.remove(opener->name);
    co_return std::unexpected(started.error());
  }
  opener.reset();
  theirs.reset();  // from here on a dead unit is the end of the socket, not silence
  const bool answered = co_await os::readable(event, mine.get(), kOpenTimeoutUs);
  auto directory = answered ? receive(mine.get(), path)
                            : std::unexpected(Error{ErrorCode::Environment, path + " did not open within 20 seconds"});
  mine.reset();
  co_await systemd.remove(unit + ".service");
  co_return directory;
}

}  // namespace coffer::engine
