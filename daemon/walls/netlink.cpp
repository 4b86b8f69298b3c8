#include "walls/netlink.hpp"

#include <algorithm>
#include <array>
#include <cerrno>

#include <libmnl/libmnl.h>
#include <sys/socket.h>

namespace coffer::walls {

namespace {

// The kernel's own size of a dump's datagram is at most 32 KiB.
constexpr std::size_t kReceiveBytes = 64 * 1024;

struct Buffer {
  alignas(nlmsghdr) std::array<char, kReceiveBytes> bytes;
};

/// Calls `each` for every message in a datagram.
template <class Each>
void forEach(const Buffer& buffer, std::size_t size, Each each) {
  std::size_t offset = 0;
  while (size - offset >= sizeof(nlmsghdr)) {
    const auto* header = static_cast<const nlmsghdr*>(static_cast<const void*>(buffer.bytes.data() + offset));
    if (header->nlmsg_len < sizeof(nlmsghdr) || header->nlmsg_len > size - offset) return;
    each(header);
    offset += std::min<std::size_t>(NLMSG_ALIGN(header->nlmsg_len), size - offset);
  }
}

int errorOf(const nlmsghdr* header) {
  if (header->nlmsg_len < NLMSG_LENGTH(sizeof(int))) return EBADMSG;
  return -*static_cast<const int*>(mnl_nlmsg_get_payload(header));
}

}  // namespace

Result<Netlink> Netlink::open(int protocol) {
  Fd socket(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol));
  if (!socket) return failed("netlink socket");
  sockaddr_nl address{.nl_family = AF_NETLINK, .nl_pad = 0, .nl_pid = 0, .nl_groups = 0};
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0)
    return failed("binding a netlink socket");
  return adopt(std::move(socket));
}

Result<Netlink> Netlink::adopt(Fd socket) {
  sockaddr_nl address{};
  socklen_t size = sizeof(address);
  if (::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0 || address.nl_family != AF_NETLINK)
    return failed(EBADF, "not a netlink socket");
  return Netlink(std::move(socket), address.nl_pid);
}

void Netlink::drain() {
  Buffer buffer;
  while (::recv(socket_.get(), buffer.bytes.data(), buffer.bytes.size(), MSG_DONTWAIT) >= 0 || errno == EINTR ||
         errno == ENOBUFS) {
  }
}

Result<void> Netlink::write(std::span<const char> bytes, std::string_view what) {
  drain();  // what an earlier holder of this socket left unread
  const sockaddr_nl kernel{.nl_family = AF_NETLINK, .nl_pad = 0, .nl_pid = 0, .nl_groups = 0};
  ssize_t sent = 0;
  do {
    sent = ::sendto(socket_.get(), bytes.data(), bytes.size(), 0, reinterpret_cast<const sockaddr*>(&kernel),
                    sizeof(kernel));
  } while (sent < 0 && errno == EINTR);
  if (sent < 0) return failed(what);
  return {};
}

Result<void> Netlink::send(std::span<const char> bytes, std::string_view what) {
  if (auto written = write(bytes, what); !written) return written;
  int error = 0;
  bool answered = false;
  Buffer buffer;
  for (;;) {
    const ssize_t got = ::recv(socket_.get(), buffer.bytes.data(), buffer.bytes.size(), MSG_DONTWAIT);
    if (got < 0) {
      if (errno == EINTR) continue;
      if (errno == EAGAIN) break;
      return failed(what);
    }
    forEach(buffer, static_cast<std::size_t>(got), [&](const nlmsghdr* header) {
      if (header->nlmsg_type != NLMSG_ERROR) return;
      answered = true;
      if (error == 0) error = errorOf(header);
    });
  }
  // Netlink answers inside sendto(); silence would mean that nothing was acknowledged.
  if (!answered) return failed(EPROTO, what);
  if (error != 0) return failed(error, what);
  return {};
}

Result<void> Netlink::dump(std::span<const char> request, const std::function<void(const nlmsghdr*)>& each,
                           std::string_view what) {
  if (auto written = write(request, what); !written) return written;
  Buffer buffer;
  int error = 0;
  bool done = false;
  while (!done) {
    const ssize_t got = ::recv(socket_.get(), buffer.bytes.data(), buffer.bytes.size(), 0);
    if (got < 0) {
      if (errno == EINTR) continue;
      return failed(what);
    }
    forEach(buffer, static_cast<std::size_t>(got), [&](const nlmsghdr* header) {
      if (header->nlmsg_type == NLMSG_DONE) {
        done = true;
      } else if (header->nlmsg_type == NLMSG_ERROR) {
        error = errorOf(header);
        done = true;
      } else {
        each(header);
      }
    });
  }
  if (error != 0) return failed(error, what);
  return {};
}

}  // namespace coffer::walls
