#include "walls/host_table.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>

#include "model/limits.hpp"
#include "walls/address_ranges.hpp"
#include "walls/nft_rule.hpp"
#include "walls/nft_table.hpp"

namespace coffer::walls {

namespace {

const NftTable kTable("cofferdam");
// Stands in the table, with the first of the uids that its rules are about; another text means that another version of
// this program wrote it.
constexpr std::string_view kLayout = "what cofferdam's own uids may send (layout 2), from uid ";
constexpr std::uint32_t kFlags = NFT_TABLE_F_OWNER | NFT_TABLE_F_PERSIST;

constexpr std::uint32_t kDestination4 = 16;
constexpr std::uint32_t kDestination6 = 24;
constexpr std::uint32_t kDestinationPort = 2;

constexpr const char* kPorts = "gateway_ports";
constexpr const char* kExact4 = "gateway_exact";
constexpr const char* kExact6 = "gateway_exact6";
constexpr const char* kDns4 = "dns_servers";
constexpr const char* kDns6 = "dns_servers6";
constexpr const char* kSpecial = "special";

const std::array kSets = std::to_array<NftSet>({
    {.name = kPorts, .keyType = kTypeService, .keyBytes = 2, .size = limits::kHostEntries},
    {.name = kExact4, .keyType = concatenate(kTypeIpv4, kTypeService), .keyBytes = 8, .size = limits::kHostEntries},
    {.name = kExact6, .keyType = concatenate(kTypeIpv6, kTypeService), .keyBytes = 20, .size = limits::kHostEntries},
    {.name = kDns4, .keyType = kTypeIpv4, .keyBytes = 4, .size = limits::kHostEntries},
    {.name = kDns6, .keyType = kTypeIpv6, .keyBytes = 16, .size = limits::kHostEntries},
    {.name = kSpecial, .keyType = kTypeIpv4, .keyBytes = 4, .flags = NFT_SET_INTERVAL},
});

struct Place {
  const char* set;
  NftElement element;
};

void append(std::vector<std::uint8_t>& key, const HostEntry& entry) {
  const std::size_t bytes = entry.family == 4 ? 4 : 16;
  key.insert(key.end(), entry.address.begin(), entry.address.begin() + static_cast<std::ptrdiff_t>(bytes));
}

void appendPort(std::vector<std::uint8_t>& key, std::uint16_t port) {
  key.push_back(static_cast<std::uint8_t>(port >> 8));
  key.push_back(static_cast<std::uint8_t>(port & 0xff));
}

/// Where an entry goes; nothing for one that says too little.
std::optional<Place> place(HostSetKind kind, const HostEntry& entry) {
  const bool addressed = entry.family == 4 || entry.family == 6;
  Place result{};
  auto& key = result.element.key;
  switch (kind) {
    case HostSetKind::GatewayPorts:
      if (entry.family != 0 || entry.port == 0) return std::nullopt;
      result.set = kPorts;
      appendPort(key, entry.port);
      return result;
    case HostSetKind::GatewayExact:
      if (!addressed || entry.port == 0) return std::nullopt;
      result.set = entry.family == 4 ? kExact4 : kExact6;
      append(key, entry);
      appendPort(key, entry.port);
      key.resize(key.size() + 2);  // a part of a concatenation fills four bytes
      return result;
    case HostSetKind::DnsServers:
      if (!addressed) return std::nullopt;
      result.set = entry.family == 4 ? kDns4 : kDns6;
      append(key, entry);
      return result;
  }
  return std::nullopt;
}

std::vector<const char*> setsOf(HostSetKind kind) {
  switch (kind) {
    case HostSetKind::GatewayPorts:
      return {kPorts};
    case HostSetKind::GatewayExact:
      return {kExact4, kExact6};
    case HostSetKind::DnsServers:
      return {kDns4, kDns6};
  }
  return {};
}

NftRule rule(const char* chain) { return NftRule(kTable.name(), chain); }

void addDnsRules(NftBatch& batch, const char* chain) {
  for (const std::uint8_t protocol : {IPPROTO_UDP, IPPROTO_TCP}) {
    const std::array<std::uint8_t, 2> port{0, 53};
    rule(chain)
        .family(NFPROTO_IPV4)
        .protocol(protocol)
        .loadTransport(kDestinationPort, 2, 0)
        .compare(NFT_CMP_EQ, port)
        .loadNetwork(kDestination4, 4, 0)
        .in(kDns4)
        .accept(batch);
    rule(chain)
        .family(NFPROTO_IPV6)
        .protocol(protocol)
        .loadTransport(kDestinationPort, 2, 0)
        .compare(NFT_CMP_EQ, port)
        .loadNetwork(kDestination6, 16, 0)
        .in(kDns6)
        .accept(batch);
  }
}

void addRules(NftBatch& batch, const model::UidRanges& uids) {
  const auto gateways = uids.part(model::UidPart::Gateway);
  const auto resolvers = uids.part(model::UidPart::Resolver);
  kTable.addOutputChain(batch, "output", NF_ACCEPT);
  for (const char* chain : {"ours", "gateways", "resolvers", "refuse"})
    kTable.addChain(batch, chain);

  rule("output").socketUid(uids.first(), uids.last()).go(batch, "ours");

  rule("ours").socketUid(gateways.first, gateways.last).counter().go(batch, "gateways");
  rule("ours").socketUid(resolvers.first, resolvers.last).counter().go(batch, "resolvers");
  rule("ours").counter().go(batch, "refuse");

  addDnsRules(batch, "resolvers");
  rule("resolvers").go(batch, "refuse");

  rule("gateways")
      .family(NFPROTO_IPV4)
      .protocol(IPPROTO_TCP)
      .loadNetwork(kDestination4, 4, 0)
      .loadTransport(kDestinationPort, 2, 1)
      .in(kExact4)
      .accept(batch);
  rule("gateways")
      .family(NFPROTO_IPV6)
      .protocol(IPPROTO_TCP)
      .loadNetwork(kDestination6, 16, 0)
      .loadTransport(kDestinationPort, 2, 4)
      .in(kExact6)
      .accept(batch);
  addDnsRules(batch, "gateways");
  rule("gateways").family(NFPROTO_IPV6).go(batch, "refuse");
  // One's own addresses, broadcast and multicast: whatever the routing table says that they are.
  const std::uint32_t unicast = RTN_UNICAST;
  std::array<std::uint8_t, 4> type{};
  std::memcpy(type.data(), &unicast, sizeof(unicast));
  rule("gateways").loadDestinationType(0).compare(NFT_CMP_NEQ, type).go(batch, "refuse");
  rule("gateways").loadNetwork(kDestination4, 4, 0).in(kSpecial).go(batch, "refuse");
  rule("gateways").protocol(IPPROTO_TCP).loadTransport(kDestinationPort, 2, 0).in(kPorts).accept(batch);
  rule("gateways").go(batch, "refuse");

  rule("refuse").counter().rejectTcp(batch);
  rule("refuse").counter().rejectAny(batch);
}

}  // namespace

Result<HostTable> HostTable::open(Fd storedSocket) {
  if (storedSocket) {
    auto netlink = Netlink::adopt(std::move(storedSocket));
    if (!netlink) return std::unexpected(netlink.error());
    HostTable table(std::move(*netlink));
    auto standing = table.standing();
    if (!standing) return std::unexpected(standing.error());
    if (*standing) return table;
    if (auto built = table.build(); !built) return std::unexpected(built.error());
    return table;
  }
  auto netlink = Netlink::open(NETLINK_NETFILTER);
  if (!netlink) return std::unexpected(netlink.error());
  HostTable table(std::move(*netlink));
  if (auto built = table.build(); !built) return std::unexpected(built.error());
  auto standing = table.standing();
  if (!standing) return std::unexpected(standing.error());
  if (!*standing)
    return refuse(
        ErrorCode::Unsupported,
        "this kernel keeps no nftables table for its owner (flags owner and persist, Linux 6.9): without them "
        "`nft flush ruleset` would take the walls away; boot a newer kernel");
  return table;
}

Result<void> HostTable::prove() {
  auto stands = standing();
  if (!stands) return std::unexpected(stands.error());
  if (!*stands) return refuse(ErrorCode::Unsupported, "the host's table `inet cofferdam` is not ours any more");
  return {};
}

Result<void> HostTable::tryTproxy() {
  auto netlink = Netlink::open(NETLINK_NETFILTER);
  if (!netlink) return std::unexpected(netlink.error());
  const NftTable table("cofferdam-probe");
  constexpr auto kChain = "tproxy";
  NftBatch batch;
  table.create(batch, 0, "whether this kernel can hand connections to a listener");
  table.addChain(batch, kChain);
  NftRule(table.name(), kChain).family(NFPROTO_IPV4).protocol(IPPROTO_TCP).loadZero(0).tproxy(0).append(batch);
  table.destroy(batch);
  return netlink->send(batch.finish(), "making a rule with TPROXY");
}

Result<void> HostTable::takeDown() {
  auto netlink = Netlink::open(NETLINK_NETFILTER);
  if (!netlink) return std::unexpected(netlink.error());
  NftBatch batch;
  kTable.destroy(batch);
  return netlink->send(batch.finish(), "removing the host's table");
}

Result<bool> HostTable::standing() {
  auto state = kTable.state(netlink_);
  if (!state) {
    if (state.error().code == ErrorCode::NotFound) return false;
    return std::unexpected(state.error());
  }
  if ((state->flags & kFlags) != kFlags || state->owner != netlink_.port() || !state->comment.starts_with(kLayout))
    return false;
  const auto base = std::string_view(state->comment).substr(kLayout.size());
  std::uint32_t first = 0;
  const auto [end, error] = std::from_chars(base.data(), base.data() + base.size(), first);
  if (error != std::errc{} || end != base.data() + base.size() || !model::UidRanges::mayBegin(first)) return false;
  uids_ = model::UidRanges(first);
  return true;
}

Result<void> HostTable::useUids(const model::UidRanges& uids) {
  if (uids == uids_) return {};
  const auto before = std::exchange(uids_, uids);
  auto built = build();
  if (!built) uids_ = before;
  return built;
}

Result<void> HostTable::build() {
  // What is in the sets of an older layout's table is kept. (Without such a table reading fails, and there is nothing
  // to keep.)
  std::array<std::vector<NftElement>, kSets.size()> kept;
  for (std::size_t i = 0; i < kSets.size(); ++i) {
    if (kSets[i].flags != 0) continue;
    const auto keep = [&](const NftTable::Seen& seen) {
      if (seen.key.size() == kSets[i].keyBytes) kept[i].push_back({.key = {seen.key.begin(), seen.key.end()}});
    };
    if (!kTable.readSet(netlink_, kSets[i].name, keep)) kept[i].clear();
  }
  NftBatch batch;
  kTable.destroy(batch);
  kTable.create(batch, kFlags, std::string(kLayout) + std::to_string(uids_.first()));
  for (const NftSet& set : kSets)
    kTable.addSet(batch, set);
  kTable.addElements(batch, kSpecial, intervalElements(specialRanges()));
  addRules(batch, uids_);
  for (std::size_t i = 0; i < kSets.size(); ++i)
    kTable.addElements(batch, kSets[i].name, kept[i]);
  auto sent = netlink_.send(batch.finish(), "writing the host's table `inet cofferdam`");
  if (sent) return sent;
  Fault fault = sent.error();
  if (fault.errnum == EOPNOTSUPP || fault.errnum == EINVAL) {
    fault.code = ErrorCode::Unsupported;
    fault.message +=
        " (needed: nf_tables with owned, persistent tables, Linux 6.9, and the modules nft_fib_inet, nft_reject_inet)";
  }
  return std::unexpected(fault);
}

Result<void> HostTable::set(HostSetKind kind, const HostEntry& entry, bool remove) {
  const auto where = place(kind, entry);
  if (!where) return refuse(ErrorCode::InvalidArgument, "an entry of the host table lacks its address or port");
  NftBatch batch;
  const std::span<const NftElement> one(&where->element, 1);
  if (remove)
    kTable.removeElements(batch, where->set, one);
  else
    kTable.addElements(batch, where->set, one);
  return netlink_.send(batch.finish(), "changing the host's table");
}

Result<void> HostTable::replace(HostSetKind kind, std::span<const HostEntry> entries) {
  if (entries.size() > limits::kHostEntries)
    return refuse(ErrorCode::Limit,
                  "at most " + std::to_string(limits::kHostEntries) + " entries in a set of the host table");
  const auto sets = setsOf(kind);
  if (sets.empty()) return refuse(ErrorCode::InvalidArgument, "no such set in the host table");
  NftBatch batch;
  for (const char* set : sets) {
    std::vector<NftElement> elements;
    for (const HostEntry& entry : entries) {
      auto where = place(kind, entry);
      if (!where) return refuse(ErrorCode::InvalidArgument, "an entry of the host table lacks its address or port");
      if (std::strcmp(where->set, set) == 0) elements.push_back(std::move(where->element));
    }
    kTable.flushSet(batch, set);
    kTable.addElements(batch, set, elements);
  }
  return netlink_.send(batch.finish(), "changing the host's table");
}

}  // namespace coffer::walls
