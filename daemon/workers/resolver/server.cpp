#include "workers/resolver/server.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <systemd/sd-daemon.h>
#include <time.h>
#include <unistd.h>

#include "model/limits.hpp"
#include "workers/resolver/answer.hpp"

namespace coffer::resolver {

namespace {

constexpr std::uint64_t kSecond = 1'000'000;
/// Messages taken from the socket, and written down in one go, before other sources have their turn.
constexpr int kBatch = 64;

struct UdpReply {
  std::vector<std::uint8_t> bytes;
  sockaddr_storage to;
  socklen_t length;
};

std::unexpected<Error> fault(const char* what, int error) {
  return std::unexpected(Error{ErrorCode::Internal, std::string(what) + ": " + std::strerror(error)});
}

}  // namespace

struct Server::Client {
  Server& server;
  Fd fd;
  sd_event_source* io = nullptr;
  sd_event_source* idle = nullptr;
  std::vector<std::uint8_t> input;

  ~Client() {
    sd_event_source_disable_unref(io);
    sd_event_source_disable_unref(idle);
  }
};

Server::Server(Fd udp, Fd tcp, std::string outDirectory)
    : udp_(std::move(udp)), tcp_(std::move(tcp)), out_(std::move(outDirectory)) {
  // What a process before this one saw belongs to the same run.
  const Fd file(::open((out_ + "/names").c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  struct stat status{};
  if (!file || ::fstat(file.get(), &status) != 0 || status.st_size > static_cast<off_t>(limits::kReportBytes)) return;
  std::string bytes(static_cast<std::size_t>(status.st_size), '\0');
  if (::read(file.get(), bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) return;
  if (const auto records = Records::parse(bytes)) names_.restore(*records);
}

Server::~Server() {
  clients_.clear();
  sd_event_unref(event_);
}

std::expected<void, Error> Server::run() {
  if (const int r = sd_event_new(&event_); r < 0) return fault("event loop", -r);
  for (const int signal : {SIGTERM, SIGINT})
    if (const int r = sd_event_add_signal(event_, nullptr, signal | SD_EVENT_SIGNAL_PROCMASK, nullptr, nullptr); r < 0)
      return fault("signals", -r);
  if (udp_)
    if (const int r = sd_event_add_io(event_, nullptr, udp_.get(), EPOLLIN, &Server::onUdp, this); r < 0)
      return fault("dns-udp", -r);
  if (tcp_)
    if (const int r = sd_event_add_io(event_, nullptr, tcp_.get(), EPOLLIN, &Server::onTcp, this); r < 0)
      return fault("dns-tcp", -r);
  sd_notify(0, "READY=1");
  if (const int r = sd_event_loop(event_); r < 0) return fault("event loop", -r);
  sd_notify(0, "STOPPING=1");
  if (!write("names", false) || !write("report", true)) return fault("report", errno);
  return {};
}

std::vector<std::uint8_t> Server::handle(std::span<const std::uint8_t> message) {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  if (!rate_.take(static_cast<std::uint64_t>(now.tv_sec) * kSecond + static_cast<std::uint64_t>(now.tv_nsec) / 1000)) {
    names_.dropped();
    return {};
  }
  auto said = answer(message);
  if (!said) return {};
  if (!said->refusedName.empty()) {
    names_.add(said->refusedName);
    unwritten_ = true;
  }
  return std::move(said->bytes);
}

int Server::onUdp(sd_event_source*, int fd, std::uint32_t, void* self) {
  auto& server = *static_cast<Server*>(self);
  std::array<std::uint8_t, limits::kResolverQueryBytes> buffer{};
  std::vector<UdpReply> replies;
  for (int i = 0; i < kBatch; ++i) {
    sockaddr_storage from{};
    socklen_t length = sizeof(from);
    // With MSG_TRUNC the real length comes back, so what did not fit is known.
    const auto got = ::recvfrom(fd, buffer.data(), buffer.size(), MSG_DONTWAIT | MSG_TRUNC,
                                reinterpret_cast<sockaddr*>(&from), &length);
    if (got < 0) break;
    if (static_cast<std::size_t>(got) > buffer.size()) continue;
    auto reply = server.handle(std::span(buffer).first(static_cast<std::size_t>(got)));
    if (!reply.empty()) replies.push_back({std::move(reply), from, length});
  }
  server.writeDown();
  for (const auto& reply : replies)
    static_cast<void>(::sendto(fd, reply.bytes.data(), reply.bytes.size(), MSG_DONTWAIT,
                               reinterpret_cast<const sockaddr*>(&reply.to), reply.length));
  return 0;
}

int Server::onTcp(sd_event_source*, int fd, std::uint32_t, void* self) {
  auto& server = *static_cast<Server*>(self);
  Fd accepted(::accept4(fd, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (!accepted || server.clients_.size() >= limits::kResolverConnections) return 0;
  auto client = std::make_unique<Client>(server, std::move(accepted));
  if (sd_event_add_io(server.event_, &client->io, client->fd.get(), EPOLLIN, &Server::onClient, client.get()) < 0 ||
      sd_event_add_time_relative(server.event_, &client->idle, CLOCK_MONOTONIC, limits::kResolverIdleSeconds * kSecond,
                                 0, &Server::onIdle, client.get()) < 0)
    return 0;
  server.clients_.emplace(client.get(), std::move(client));
  return 0;
}

int Server::onClient(sd_event_source*, int, std::uint32_t, void* data) {
  auto& client = *static_cast<Client*>(data);
  if (!client.server.read(client)) client.server.close(client);
  return 0;
}

int Server::onIdle(sd_event_source*, std::uint64_t, void* data) {
  auto& client = *static_cast<Client*>(data);
  client.server.close(client);
  return 0;
}

bool Server::read(Client& client) {
  std::array<std::uint8_t, limits::kResolverQueryBytes> buffer{};
  const auto got = ::recv(client.fd.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (got <= 0) return got < 0 && errno == EAGAIN;
  client.input.insert(client.input.end(), buffer.begin(), buffer.begin() + got);
  // RFC 1035, 4.2.2: two bytes of length before each message.
  std::size_t at = 0;
  while (client.input.size() - at >= 2) {
    const std::size_t size = static_cast<std::size_t>(client.input[at]) << 8 | client.input[at + 1];
    if (size > limits::kResolverQueryBytes) return false;
    if (client.input.size() - at - 2 < size) break;
    const auto reply = handle(std::span(client.input).subspan(at + 2, size));
    at += 2 + size;
    writeDown();
    if (reply.empty()) return false;
    std::vector<std::uint8_t> framed{static_cast<std::uint8_t>(reply.size() >> 8),
                                     static_cast<std::uint8_t>(reply.size())};
    framed.insert(framed.end(), reply.begin(), reply.end());
    // Replies are small; a client that does not read them fills its own buffer and is closed.
    if (::send(client.fd.get(), framed.data(), framed.size(), MSG_DONTWAIT | MSG_NOSIGNAL) !=
        static_cast<ssize_t>(framed.size()))
      return false;
    sd_event_source_set_time_relative(client.idle, limits::kResolverIdleSeconds * kSecond);
  }
  client.input.erase(client.input.begin(), client.input.begin() + static_cast<std::ptrdiff_t>(at));
  return true;
}

void Server::close(Client& client) { clients_.erase(&client); }

void Server::writeDown() {
  // A full disk does not stop answers; the report at the end is where it counts.
  if (std::exchange(unwritten_, false)) static_cast<void>(write("names", false));
}

bool Server::write(const char* name, bool durable) {
  const auto path = out_ + "/" + name;
  const auto temporary = path + ".tmp";
  const auto bytes = names_.records().serialize();
  const Fd file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  return file && ::write(file.get(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()) &&
         (!durable || ::fsync(file.get()) == 0) && ::rename(temporary.c_str(), path.c_str()) == 0;
}

}  // namespace coffer::resolver
