#include "walls/server.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <utility>

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "model/limits.hpp"

namespace coffer::walls {

namespace {

constexpr std::size_t kReceivedFds = 4;
constexpr std::size_t kSentFds = 3;

bool isRoot(int connection) {
  ucred peer{};
  socklen_t size = sizeof(peer);
  return ::getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == 0;
}

sockaddr_un addressOf(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  return address;
}

/// What a request is about, so that two of them never work on one thing at once.
std::set<std::string> namesIn(const Request& request) {
  std::set<std::string> names;
  for (const Name* field : {&request.name, &request.image})
    if (const auto name = unpackName(*field)) names.emplace(*name);
  return names;
}

}  // namespace

Server::Server(Walls walls, Fd listener)
    : walls_(std::move(walls)), listener_(std::move(listener)), wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

void Server::addConnection(Fd connection) {
  connections_.emplace(nextConnection_++, Connection{.fd = std::move(connection)});
}

void Server::turn(int milliseconds) {
  std::vector<pollfd> polled{{.fd = wake_.get(), .events = POLLIN, .revents = 0},
                             {.fd = listener_.get(), .events = POLLIN, .revents = 0}};
  std::vector<std::uint64_t> ids;
  for (const auto& [id, connection] : connections_) {
    if (connection.working) continue;
    polled.push_back({.fd = connection.fd.get(), .events = POLLIN, .revents = 0});
    ids.push_back(id);
  }
  if (::poll(polled.data(), polled.size(), milliseconds) <= 0) return;
  if (polled[0].revents != 0) collect();
  for (std::size_t i = 0; i < ids.size(); ++i)
    if (polled[i + 2].revents != 0) serve(ids[i]);
  if (polled[1].revents != 0) acceptOne();
}

void Server::acceptOne() {
  Fd connection(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!connection || connections_.size() >= limits::kWallsConnections || !isRoot(connection.get())) return;
  addConnection(std::move(connection));
}

// One request, or nothing when the connection is to be closed: it ended, or what came is not a request.
std::optional<Server::Received> Server::receive(int connection) {
  Received received;
  iovec data{.iov_base = &received.request, .iov_len = sizeof(Request)};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kReceivedFds * sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  const ssize_t got = ::recvmsg(connection, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (got < 0) return std::nullopt;
  std::vector<Fd> fds;
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr; part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    for (std::size_t i = 0; i < (part->cmsg_len - CMSG_LEN(0)) / sizeof(int); ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(part) + i * sizeof(int), sizeof(fd));
      fds.emplace_back(fd);
    }
  }
  if (got != static_cast<ssize_t>(sizeof(Request)) || (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0 ||
      fds.size() > 1)
    return std::nullopt;
  if (!fds.empty()) received.fd = std::move(fds.front());
  return received;
}

void Server::serve(std::uint64_t id) {
  auto received = receive(connections_.at(id).fd.get());
  if (!received) {
    connections_.erase(id);
    return;
  }
  begin(id, std::move(*received));
}

void Server::begin(std::uint64_t id, Received received) {
  auto& connection = connections_.at(id);
  auto names = namesIn(received.request);
  connection.working = std::ranges::any_of(names, [this](const auto& name) { return busyNames_.contains(name); });
  if (connection.working)
    connection.waiting = std::move(received);
  else if (Walls::isSlow(received.request.verb))
    startSlow(id, received.request, std::move(names));
  else
    send(id, walls_.perform(received.request, received.fd));
}

void Server::startSlow(std::uint64_t id, const Request& request, std::set<std::string> names) {
  busyNames_.insert(names.begin(), names.end());
  connections_.at(id).working = true;
  threads_.insert_or_assign(id, std::jthread([this, id, request, names = std::move(names)]() mutable {
                              Finished finished{
                                  .connection = id, .names = std::move(names), .answer = walls_.perform(request, Fd())};
                              const std::scoped_lock lock(mutex_);
                              finished_.push_back(std::move(finished));
                              const std::uint64_t one = 1;
                              (void)!::write(wake_.get(), &one, sizeof(one));
                            }));
}

void Server::collect() {
  std::uint64_t count = 0;
  (void)!::read(wake_.get(), &count, sizeof(count));
  std::deque<Finished> finished;
  {
    const std::scoped_lock lock(mutex_);
    finished.swap(finished_);
  }
  for (const Finished& one : finished) {
    threads_.erase(one.connection);
    for (const std::string& name : one.names)
      busyNames_.erase(name);
    connections_.at(one.connection).working = false;
    send(one.connection, one.answer);
  }
  std::vector<std::uint64_t> waiting;
  for (const auto& [id, connection] : connections_)
    if (connection.waiting) waiting.push_back(id);
  for (const auto id : waiting)
    begin(id, *std::exchange(connections_.at(id).waiting, std::nullopt));
}

void Server::send(std::uint64_t id, const Answer& answer) {
  iovec data{.iov_base = const_cast<Reply*>(&answer.reply), .iov_len = sizeof(Reply)};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kSentFds * sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  if (!answer.fds.empty()) {
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(answer.fds.size() * sizeof(int));
    if (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr) {
      part->cmsg_level = SOL_SOCKET;
      part->cmsg_type = SCM_RIGHTS;
      part->cmsg_len = CMSG_LEN(answer.fds.size() * sizeof(int));
      for (std::size_t i = 0; i < answer.fds.size(); ++i) {
        const int fd = answer.fds[i].get();
        std::memcpy(CMSG_DATA(part) + i * sizeof(int), &fd, sizeof(fd));
      }
    }
  }
  // A client reads its answer before it asks again, so a full buffer is a client that does not.
  if (::sendmsg(connections_.at(id).fd.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) connections_.erase(id);
}

Result<Fd> Server::listenAt(const std::string& path) {
  Fd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return failed("making a socket");
  const sockaddr_un address = addressOf(path);
  ::unlink(path.c_str());
  if (::fchmod(socket.get(), 0600) != 0) return failed("restricting a socket");
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0)
    return failed("binding " + path);
  if (::listen(socket.get(), static_cast<int>(limits::kWallsConnections)) != 0) return failed("listening at " + path);
  return socket;
}

bool Server::listensAt(const Fd& socket, const std::string& path) {
  sockaddr_un address{};
  socklen_t size = sizeof(address);
  if (!socket || ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) return false;
  struct stat status{};
  return address.sun_family == AF_UNIX && path == address.sun_path && ::lstat(path.c_str(), &status) == 0 &&
         S_ISSOCK(status.st_mode);
}

}  // namespace coffer::walls
