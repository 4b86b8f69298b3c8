#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include <linux/netlink.h>

#include "os/fd.hpp"
#include "walls/fault.hpp"

namespace coffer::walls {

/// A netlink socket of the namespace its maker was in. Tables with the owner flag belong to it: to its port, for as
/// long as any copy of the descriptor is open, in whatever process.
class Netlink {
 public:
  /// `protocol` is NETLINK_ROUTE or NETLINK_NETFILTER.
  static Result<Netlink> open(int protocol);
  /// A socket that an earlier process of ours made.
  static Result<Netlink> adopt(Fd socket);

  /// Sends `bytes` (whole messages that each ask for an acknowledgement) and reads the kernel's answers, which are
  /// there when the send returns. The first error is the result; `what` names what was being done.
  Result<void> send(std::span<const char> bytes, std::string_view what);

  /// Sends a request with NLM_F_DUMP and gives each message of the answer to `each`.
  Result<void> dump(std::span<const char> request, const std::function<void(const nlmsghdr*)>& each,
                    std::string_view what);

  [[nodiscard]] int fd() const { return socket_.get(); }
  [[nodiscard]] std::uint32_t port() const { return port_; }

 private:
  Netlink(Fd socket, std::uint32_t port) : socket_(std::move(socket)), port_(port) {}
  Result<void> write(std::span<const char> bytes, std::string_view what);
  void drain();

  Fd socket_;
  std::uint32_t port_;
};

}  // namespace coffer::walls
