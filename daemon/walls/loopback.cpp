#include "walls/loopback.hpp"

#include <array>
#include <cstdint>

#include <libmnl/libmnl.h>
#include <linux/if.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include "walls/netlink.hpp"

namespace coffer::walls {

namespace {

constexpr int kLoopbackIndex = 1;  // LOOPBACK_IFINDEX: the kernel makes it first in every namespace

struct Message {
  alignas(nlmsghdr) std::array<char, 256> bytes{};
  nlmsghdr* header = mnl_nlmsg_put_header(bytes.data());
  [[nodiscard]] std::span<const char> view() const { return {bytes.data(), header->nlmsg_len}; }
};

Result<void> setUp(Netlink& netlink) {
  Message message;
  message.header->nlmsg_type = RTM_NEWLINK;
  message.header->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
  auto* link = static_cast<ifinfomsg*>(mnl_nlmsg_put_extra_header(message.header, sizeof(ifinfomsg)));
  link->ifi_family = AF_UNSPEC;
  link->ifi_index = kLoopbackIndex;
  link->ifi_flags = IFF_UP;
  link->ifi_change = IFF_UP;
  return netlink.send(message.view(), "setting lo up");
}

Result<void> addLocalDefault(Netlink& netlink, std::uint8_t family) {
  Message message;
  message.header->nlmsg_type = RTM_NEWROUTE;
  message.header->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL;
  auto* route = static_cast<rtmsg*>(mnl_nlmsg_put_extra_header(message.header, sizeof(rtmsg)));
  route->rtm_family = family;
  route->rtm_table = RT_TABLE_LOCAL;
  route->rtm_protocol = RTPROT_STATIC;
  route->rtm_scope = RT_SCOPE_HOST;
  route->rtm_type = RTN_LOCAL;
  mnl_attr_put_u32(message.header, RTA_OIF, kLoopbackIndex);
  return netlink.send(message.view(), "adding the local route");
}

}  // namespace

Result<void> prepareLoopback() {
  auto netlink = Netlink::open(NETLINK_ROUTE);
  if (!netlink) return std::unexpected(netlink.error());
  if (auto up = setUp(*netlink); !up) return up;
  if (auto four = addLocalDefault(*netlink, AF_INET); !four) return four;
  // A kernel without IPv6 has nothing to count there, and nothing to refuse.
  Fd probe(::socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!probe) return {};
  return addLocalDefault(*netlink, AF_INET6);
}

}  // namespace coffer::walls
