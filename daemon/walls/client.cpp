#include "walls/client.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

namespace coffer::walls {

namespace {

constexpr std::size_t kFds = 3;

std::string words(int errnum) { return std::generic_category().message(errnum); }

std::unexpected<Error> error(ErrorCode code, std::string message) {
  return std::unexpected(Error{code, std::move(message)});
}

std::unexpected<Error> badReply() {
  return error(ErrorCode::Internal, "coffer-walls answered in a form that this cofferd does not know: restart both");
}

std::expected<Request, Error> make(Verb verb, std::string_view name) {
  Request request;
  request.verb = verb;
  const auto field = packName(name);
  if (!field) return error(ErrorCode::InvalidArgument, "not a name: " + std::string(name));
  request.name = *field;
  return request;
}

std::expected<void, Error> put(Name& field, std::string_view name) {
  const auto packed = packName(name);
  if (!packed) return error(ErrorCode::InvalidArgument, "not a name: " + std::string(name));
  field = *packed;
  return {};
}

std::uint32_t flag(bool set, Flag value) { return set ? static_cast<std::uint32_t>(value) : 0; }

template <class Entry>
std::expected<std::vector<Entry>, Error> read(const Fd& memory) {
  struct stat status{};
  if (::fstat(memory.get(), &status) != 0 || status.st_size < 0 ||
      static_cast<std::size_t>(status.st_size) % sizeof(Entry) != 0)
    return badReply();
  std::vector<Entry> entries(static_cast<std::size_t>(status.st_size) / sizeof(Entry));
  const auto bytes = entries.size() * sizeof(Entry);
  if (::pread(memory.get(), entries.data(), bytes, 0) != static_cast<ssize_t>(bytes)) return badReply();
  return entries;
}

}  // namespace

WallsClient::WallsClient(std::string socketPath, std::chrono::milliseconds deadline)
    : socketPath_(std::move(socketPath)), deadline_(deadline) {}

WallsClient::WallsClient(Fd connection, std::chrono::milliseconds deadline)
    : deadline_(deadline), connection_(std::move(connection)) {}

std::expected<void, Error> WallsClient::connect() {
  if (connection_) return {};
  if (socketPath_.empty()) return error(ErrorCode::Environment, "the connection to coffer-walls has ended");
  Fd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!socket) return error(ErrorCode::Environment, "no socket for coffer-walls: " + words(errno));
  const timeval limit{.tv_sec = deadline_.count() / 1000, .tv_usec = deadline_.count() % 1000 * 1000};
  ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  socketPath_.copy(address.sun_path, sizeof(address.sun_path) - 1);
  int result = 0;
  do {
    result = ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  } while (result != 0 && errno == EINTR);
  if (result != 0)
    return error(ErrorCode::Environment, "coffer-walls does not answer at " + socketPath_ + " (" + words(errno) +
                                             "): see `systemctl status coffer-walls`");
  connection_ = std::move(socket);
  return {};
}

std::expected<WallsClient::Answer, Error> WallsClient::exchange(const Request& request, int fd) {
  if (auto sent = send(request, fd); !sent) return std::unexpected(sent.error());
  return receive();
}

std::expected<void, Error> WallsClient::send(const Request& request, int fd) {
  const timeval limit{.tv_sec = deadline_.count() / 1000, .tv_usec = deadline_.count() % 1000 * 1000};
  ::setsockopt(connection_.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
  ::setsockopt(connection_.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));

  iovec out{.iov_base = const_cast<Request*>(&request), .iov_len = sizeof(request)};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kFds * sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &out;
  message.msg_iovlen = 1;
  if (fd >= 0) {
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(sizeof(int));
    if (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr) {
      part->cmsg_level = SOL_SOCKET;
      part->cmsg_type = SCM_RIGHTS;
      part->cmsg_len = CMSG_LEN(sizeof(int));
      std::memcpy(CMSG_DATA(part), &fd, sizeof(fd));
    }
  }
  ssize_t count = 0;
  do {
    count = ::sendmsg(connection_.get(), &message, MSG_NOSIGNAL);
  } while (count < 0 && errno == EINTR);
  if (count < 0)
    return error(errno == EAGAIN ? ErrorCode::Busy : ErrorCode::Environment, "coffer-walls: " + words(errno));
  return {};
}

std::expected<WallsClient::Answer, Error> WallsClient::receive() {
  Answer answer;
  iovec in{.iov_base = &answer.reply, .iov_len = sizeof(answer.reply)};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kFds * sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &in;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  ssize_t count = 0;
  do {
    count = ::recvmsg(connection_.get(), &message, MSG_CMSG_CLOEXEC);
  } while (count < 0 && errno == EINTR);
  if (count < 0 && errno == EAGAIN)
    return error(ErrorCode::Busy,
                 "coffer-walls is still at it after " + std::to_string(deadline_.count()) + " ms: ask again");
  if (count <= 0) return error(ErrorCode::Environment, "the connection to coffer-walls has ended");
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr; part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    for (std::size_t i = 0; i < (part->cmsg_len - CMSG_LEN(0)) / sizeof(int); ++i) {
      int received = -1;
      std::memcpy(&received, CMSG_DATA(part) + i * sizeof(int), sizeof(received));
      answer.fds.emplace_back(received);
    }
  }
  if (count != static_cast<ssize_t>(sizeof(Reply)) || answer.reply.magic != kMagic ||
      (message.msg_flags & MSG_CTRUNC) != 0)
    return badReply();
  return answer;
}

std::expected<WallsClient::Answer, Error> WallsClient::call(const Request& request, int fd) {
  std::expected<Answer, Error> answer;
  for (int attempt = 0; attempt < 2; ++attempt) {
    if (auto connected = connect(); !connected) return std::unexpected(connected.error());
    answer = exchange(request, fd);
    if (answer) break;
    // The answer of a connection that is given up can never be taken for that of a later call.
    connection_.reset();
    if (answer.error().code != ErrorCode::Environment) break;
  }
  return judged(std::move(answer));
}

std::expected<WallsClient::Answer, Error> WallsClient::judged(std::expected<Answer, Error> answer) {
  if (!answer) return answer;
  const Reply& reply = answer->reply;
  if (reply.status == kDone) return answer;
  const auto end = std::ranges::find(reply.message, '\0');
  const auto known =
      std::ranges::find(kErrors, reply.status, [](const ErrorEntry& e) { return static_cast<std::int32_t>(e.code); });
  return error(known == kErrors.end() ? ErrorCode::Internal : known->code, std::string(reply.message.begin(), end));
}

std::expected<std::uint32_t, Error> WallsClient::hello() {
  Request request;
  request.verb = Verb::Hello;
  return call(request).transform([](const Answer& answer) { return answer.reply.value; });
}

std::expected<int, Error> WallsClient::askProbe(Flag what) {
  Request request;
  request.verb = Verb::Probe;
  request.flags = static_cast<std::uint32_t>(what);
  if (auto connected = connect(); !connected) return std::unexpected(connected.error());
  if (auto sent = send(request, -1); !sent) return std::unexpected(sent.error());
  return connection_.get();
}

std::expected<std::optional<Error>, Error> WallsClient::takeProbe() {
  auto answer = receive();
  if (!answer) return std::unexpected(answer.error());
  const auto tried = judged(std::move(answer));
  if (tried) return std::nullopt;
  // What is asked has one form: who calls it invalid is older than the question.
  if (tried.error().code == ErrorCode::InvalidArgument)
    return error(ErrorCode::Unsupported, "coffer-walls is of another version than cofferd, and what it was asked is " +
                                             tried.error().message + " to it");
  return std::optional(tried.error());
}

std::expected<Fd, Error> WallsClient::openState() {
  Request request;
  request.verb = Verb::StateOpen;
  auto answer = call(request);
  if (!answer) return std::unexpected(answer.error());
  if (answer->fds.size() != 1) return badReply();
  return std::move(answer->fds.front());
}

std::expected<std::vector<std::pair<Kind, std::string>>, Error> WallsClient::list() {
  Request request;
  request.verb = Verb::List;
  auto answer = call(request);
  if (!answer) return std::unexpected(answer.error());
  if (answer->fds.size() != 1) return badReply();
  auto entries = read<ListEntry>(answer->fds.front());
  if (!entries) return std::unexpected(entries.error());
  std::vector<std::pair<Kind, std::string>> listed;
  for (const ListEntry& entry : *entries)
    if (const auto name = unpackName(entry.name)) listed.emplace_back(entry.kind, *name);
  return listed;
}

std::expected<Listeners, Error> WallsClient::createNetns(std::string_view name) {
  auto answer = make(Verb::NetnsCreate, name).and_then([&](const Request& request) { return call(request); });
  if (!answer) return std::unexpected(answer.error());
  if (answer->fds.size() != 3) return badReply();
  return Listeners{
      .model = std::move(answer->fds[0]), .dnsUdp = std::move(answer->fds[1]), .dnsTcp = std::move(answer->fds[2])};
}

std::expected<void, Error> WallsClient::plain(Verb verb, std::string_view name, int fd, std::uint32_t flags) {
  auto request = make(verb, name);
  if (!request) return std::unexpected(request.error());
  request->flags = flags;
  return call(*request, fd).transform([](const Answer&) {});
}

std::expected<void, Error> WallsClient::removeNetns(std::string_view name) { return plain(Verb::NetnsRemove, name); }

std::expected<Refusals, Error> WallsClient::refusals(std::string_view netns) {
  auto answer = make(Verb::Refusals, netns).and_then([&](const Request& request) { return call(request); });
  if (!answer) return std::unexpected(answer.error());
  if (answer->fds.size() != 1) return badReply();
  auto entries = read<RefusalEntry>(answer->fds.front());
  if (!entries) return std::unexpected(entries.error());
  return Refusals{.entries = std::move(*entries), .full = answer->reply.value != 0};
}

std::expected<void, Error> WallsClient::mountImage(std::string_view name, int image, bool noExec) {
  return plain(Verb::ImageMount, name, image, flag(noExec, Flag::NoExec));
}

std::expected<void, Error> WallsClient::unmountImage(std::string_view name) { return plain(Verb::ImageUnmount, name); }

std::expected<void, Error> WallsClient::makeDirectory(std::string_view image, std::string_view name,
                                                      std::uint32_t uid) {
  Request request;
  request.verb = Verb::DirectoryMake;
  request.uid = uid;
  if (auto ok = put(request.image, image); !ok) return ok;
  if (auto ok = put(request.directory, name); !ok) return ok;
  return call(request).transform([](const Answer&) {});
}

std::expected<bool, Error> WallsClient::removeDirectory(std::string_view image, std::string_view name) {
  Request request;
  request.verb = Verb::DirectoryRemove;
  if (auto ok = put(request.image, image); !ok) return std::unexpected(ok.error());
  if (auto ok = put(request.directory, name); !ok) return std::unexpected(ok.error());
  return call(request).transform([](const Answer& answer) { return answer.reply.value == 0; });
}

std::expected<void, Error> WallsClient::mountWorkspace(std::string_view name, int lower, IdMap map,
                                                       const std::optional<Layer>& layer, bool readOnly) {
  auto request = make(Verb::WorkspaceMount, name);
  if (!request) return std::unexpected(request.error());
  request->flags = flag(readOnly, Flag::ReadOnly);
  request->lowerUid = map.fromUid;
  request->lowerGid = map.fromGid;
  request->uid = map.to;
  if (layer) {
    if (auto ok = put(request->image, layer->image); !ok) return ok;
    if (auto ok = put(request->directory, layer->directory); !ok) return ok;
  }
  return call(*request, lower).transform([](const Answer&) {});
}

std::expected<void, Error> WallsClient::unmountWorkspace(std::string_view name) {
  return plain(Verb::WorkspaceUnmount, name);
}

std::expected<void, Error> WallsClient::attachSource(std::string_view name, int directory, bool writable,
                                                     const std::optional<IdMap>& map) {
  auto request = make(Verb::SourceAttach, name);
  if (!request) return std::unexpected(request.error());
  request->flags = flag(writable, Flag::Writable) | flag(map.has_value(), Flag::Mapped);
  if (map) {
    request->lowerUid = map->fromUid;
    request->lowerGid = map->fromGid;
    request->uid = map->to;
  }
  return call(*request, directory).transform([](const Answer&) {});
}

std::expected<void, Error> WallsClient::detachSource(std::string_view name) { return plain(Verb::SourceDetach, name); }

std::expected<void, Error> WallsClient::useUids(std::uint32_t base) {
  Request request;
  request.verb = Verb::UidsUse;
  request.uid = base;
  return call(request).transform([](const Answer&) {});
}

std::expected<void, Error> WallsClient::hostChange(HostSetKind set, const HostEntry& entry, bool remove) {
  Request request;
  request.verb = Verb::HostSet;
  request.flags = flag(remove, Flag::Remove);
  request.set = set;
  request.entry = entry;
  return call(request).transform([](const Answer&) {});
}

std::expected<void, Error> WallsClient::hostAdd(HostSetKind set, const HostEntry& entry) {
  return hostChange(set, entry, false);
}

std::expected<void, Error> WallsClient::hostRemove(HostSetKind set, const HostEntry& entry) {
  return hostChange(set, entry, true);
}

std::expected<void, Error> WallsClient::hostReplace(HostSetKind set, std::span<const HostEntry> entries) {
  const Fd memory(::memfd_create("entries", MFD_CLOEXEC));
  if (!memory) return error(ErrorCode::Environment, "no memfd: " + words(errno));
  const auto bytes = std::as_bytes(entries);
  if (::write(memory.get(), bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()))
    return error(ErrorCode::Environment, "writing a memfd: " + words(errno));
  Request request;
  request.verb = Verb::HostReplace;
  request.set = set;
  return call(request, memory.get()).transform([](const Answer&) {});
}

}  // namespace coffer::walls
