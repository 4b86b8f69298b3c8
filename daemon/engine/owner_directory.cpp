#include "engine/owner_directory.hpp"

#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include <sys/socket.h>
#include <sys/stat.h>

#include "engine/accounts.hpp"
#include "os/event.hpp"
#include "sandbox/sealed.hpp"

namespace coffer::engine {
namespace {

// A directory behind an automount or a slow network file system; longer is a directory that does not answer.
constexpr std::uint64_t kOpenTimeoutUs = 20'000'000;

constexpr std::size_t kMost = 3;

// Beside the checkout, of a linked worktree: its repository's git directory and its own. The worker knows these names.
constexpr const char* kBeside[] = {"", "-common", "-own"};

std::expected<OwnerDirectory, Error> receive(int socket, const std::string& path) {
  std::int32_t number = EIO;
  iovec data{&number, sizeof number};
  alignas(cmsghdr) char control[CMSG_SPACE(kMost * sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  const auto size = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  std::vector<Fd> fds;
  for (auto* header = CMSG_FIRSTHDR(&message); header; header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    for (std::size_t at = 0; CMSG_LEN(at + sizeof(int)) <= header->cmsg_len; at += sizeof(int)) {
      int received = -1;
      std::memcpy(&received, CMSG_DATA(header) + at, sizeof received);
      fds.emplace_back(received);
    }
  }
  if (size != sizeof number)
    return std::unexpected(
        Error{ErrorCode::Environment, "the unit that opens " + path + " as its owner ended without an answer"});
  if (number == EACCES || number == EPERM)
    return std::unexpected(Error{ErrorCode::AccessDenied, "you may not open " + path + ": " + std::strerror(number) +
                                                              ". Give yourself the right to it and to what it is in, "
                                                              "then try again"});
  if (number == ENOLINK)
    return std::unexpected(Error{ErrorCode::RepositoryUnsupported,
                                 path + "/.git is a file that leads to no linked worktree of a repository that leads "
                                        "back there. A submodule is not supported; a worktree that was moved is mended "
                                        "by: git worktree repair"});
  if (number != 0 || (fds.size() != 1 && fds.size() != kMost))
    return std::unexpected(
        Error{ErrorCode::NoRepository, "cannot open " + path + ": " + std::strerror(number ? number : EBADF) +
                                           ". A repository is named by the top of its checkout, and has to be there "
                                           "when work begins and when it lands"});
  // What the user's process sends is the user's word: each must be a directory before anybody clones it.
  for (const auto& fd : fds) {
    struct stat status{};
    if (::fstat(fd.get(), &status) < 0 || !S_ISDIR(status.st_mode))
      return std::unexpected(Error{ErrorCode::NoRepository, path + " is not a directory"});
  }
  fds.resize(kMost);
  return OwnerDirectory{std::move(fds[0]), std::move(fds[1]), std::move(fds[2])};
}

}  // namespace

Async<std::expected<OwnerDirectory, Error>> openAsOwner(Context& context, std::string unit, std::uint32_t owner,
                                                        std::string path) {
  auto* event = context.event;
  auto& systemd = *context.systemd;
  if (owner == 0)
    co_return std::unexpected(Error{
        ErrorCode::AccessDenied,
        "root owns no project: add it as the user whose repository it is, so that the kernel keeps it to that user"});
  // PID 1 would say no more than that the unit could not be started.
  const auto name = co_await currentName(*context.names, owner);
  if (!name) co_return std::unexpected(name.error());
  if (!*name)
    co_return std::unexpected(
        Error{ErrorCode::NotFound, "the owner of " + path + ", uid " + std::to_string(owner) +
                                       ", is no user of this machine any more (getent passwd " + std::to_string(owner) +
                                       "). Nothing was changed: make that user again, or cancel what is theirs"});
  const auto known = context.store->owners().name(owner);
  if (!known) co_return std::unexpected(known.error());
  if (*known && **known != **name)
    co_return std::unexpected(
        Error{ErrorCode::NotFound, "uid " + std::to_string(owner) + " was " + **known + "'s when " + path +
                                       " was added and is " + **name +
                                       "'s now. Nothing was changed: an administrator can cancel and remove what was "
                                       "the former user's (coffer list --all-users)"});
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

std::expected<OwnerSource, Error> attachOwner(walls::WallsClient& walls, const Places& places, const std::string& name,
                                              const OwnerDirectory& opened, bool writable) {
  if (auto detached = detachOwner(walls, name); !detached) return std::unexpected(detached.error());
  OwnerSource source;
  const Fd* const fds[] = {&opened.directory, &opened.common, &opened.own};
  for (std::size_t at = 0; at < kMost; ++at) {
    if (!*fds[at]) break;
    const auto mount = name + kBeside[at];
    if (auto attached = walls.attachSource(mount, fds[at]->get(), writable); !attached) {
      static_cast<void>(detachOwner(walls, name));
      return std::unexpected(attached.error());
    }
    source.binds.push_back({places.source(mount), std::string("/in/source") + kBeside[at]});
  }
  // What git would run or read as settings, or where it would look for objects elsewhere; of the objects a landing adds
  // packs alone. Of a linked worktree also what leads from one of its parts to another; and always what belongs to
  // other worktrees. A directory that is not a mount could be renamed with all these mounts below it, hence the pins.
  const std::string git = opened.common ? "/in/source-common" : "/in/source/.git";
  if (!opened.common) source.pinned.push_back(git);
  source.pinned.push_back(git + "/objects/pack");
  for (const auto* path : {"/hooks", "/config", "/config.worktree", "/info", "/modules", "/objects", "/worktrees"})
    source.locked.push_back(git + path);
  if (opened.common)
    for (const auto* path : {"/in/source/.git", "/in/source-common/HEAD", "/in/source-common/index",
                             "/in/source-own/config.worktree", "/in/source-own/commondir", "/in/source-own/gitdir"})
      source.locked.emplace_back(path);
  return source;
}

std::expected<void, Error> detachOwner(walls::WallsClient& walls, const std::string& name) {
  std::expected<void, Error> result;
  for (const auto* beside : kBeside)
    if (auto detached = walls.detachSource(name + beside); !detached && result) result = std::move(detached);
  return result;
}

}  // namespace coffer::engine
