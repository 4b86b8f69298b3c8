#include "walls/sandbox_rules.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include <arpa/inet.h>
#include <linux/netfilter/nf_conntrack_common.h>
#include <netinet/in.h>

#include "model/limits.hpp"
#include "walls/nft_rule.hpp"
#include "walls/nft_table.hpp"

namespace coffer::walls {

namespace {

const NftTable kTable("cofferdam");
// The kernel's NF_CT_STATE_BIT(): bit 0 is "invalid", so each state is one further up. A refusal's own reset or ICMP
// error is "related".
constexpr std::uint32_t kEstablishedOrRelated = 1U << (IP_CT_ESTABLISHED + 1) | 1U << (IP_CT_RELATED + 1);
// Where the headers hold the destination.
constexpr std::uint32_t kDestination4 = 16;
constexpr std::uint32_t kDestination6 = 24;
constexpr std::uint32_t kDestinationPort = 2;
// Cells of a recorded key: address, protocol, port.
struct Family {
  std::uint8_t nfproto;
  const char* set;
  std::uint32_t addressType, addressBytes, destination;
  [[nodiscard]] unsigned cells() const { return addressBytes / 4; }
  [[nodiscard]] std::uint32_t keyBytes() const { return addressBytes + 8; }
};
constexpr Family kFour{NFPROTO_IPV4, "dropped", kTypeIpv4, 4, kDestination4};
constexpr Family kSix{NFPROTO_IPV6, "dropped6", kTypeIpv6, 16, kDestination6};

NftRule rule(const char* chain) { return NftRule(kTable.name(), chain); }

void addRecording(NftBatch& batch, const Family& family) {
  for (const std::uint8_t protocol : {IPPROTO_TCP, IPPROTO_UDP}) {
    auto record = rule("denied");
    record.family(family.nfproto)
        .protocol(protocol)
        .loadNetwork(family.destination, family.addressBytes, 0)
        .loadMeta(NFT_META_L4PROTO, family.cells())
        .loadTransport(kDestinationPort, 2, family.cells() + 1)
        .record(family.set)
        .append(batch);
  }
  auto other = rule("denied");
  other.family(family.nfproto)
      .loadMeta(NFT_META_L4PROTO, 0)
      .differs(IPPROTO_TCP)
      .differs(IPPROTO_UDP)
      .loadNetwork(family.destination, family.addressBytes, 0)
      .loadMeta(NFT_META_L4PROTO, family.cells())
      .loadZero(family.cells() + 1)
      .record(family.set)
      .append(batch);
}

}  // namespace

Result<void> installSandboxRules() {
  auto netlink = Netlink::open(NETLINK_NETFILTER);
  if (!netlink) return std::unexpected(netlink.error());

  NftBatch batch;
  kTable.create(batch, 0, "the walls of one sandbox");
  for (const Family& family : {kFour, kSix})
    kTable.addSet(batch, {.name = family.set,
                          .keyType = concatenate(family.addressType, kTypeProtocol, kTypeService),
                          .keyBytes = family.keyBytes(),
                          .flags = NFT_SET_EVAL,
                          .size = limits::kRefusals,
                          .counted = true});
  kTable.addOutputChain(batch, "output", NF_DROP);
  kTable.addChain(batch, "denied");

  rule("output").state(kEstablishedOrRelated).accept(batch);
  rule("output").family(NFPROTO_IPV4).loadNetwork(kDestination4, 1, 0).equals(127).accept(batch);
  std::array<std::uint8_t, 16> loopback6{};
  loopback6.back() = 1;
  rule("output").family(NFPROTO_IPV6).loadNetwork(kDestination6, 16, 0).compare(NFT_CMP_EQ, loopback6).accept(batch);
  rule("output").go(batch, "denied");

  addRecording(batch, kFour);
  addRecording(batch, kSix);
  // Rules of their own: a full set ends the rule that records, never the refusal.
  rule("denied").counter().rejectTcp(batch);
  rule("denied").counter().rejectAny(batch);
  return netlink->send(batch.finish(), "writing a sandbox's rules");
}

Result<SandboxRefusals> readSandboxRefusals() {
  auto netlink = Netlink::open(NETLINK_NETFILTER);
  if (!netlink) return std::unexpected(netlink.error());
  SandboxRefusals refusals;
  for (const Family& family : {kFour, kSix}) {
    std::size_t count = 0;
    auto read = kTable.readSet(*netlink, family.set, [&](const NftTable::Seen& seen) {
      if (seen.key.size() != family.keyBytes()) return;
      ++count;
      RefusalEntry entry;
      entry.family = family.nfproto == NFPROTO_IPV4 ? 4 : 6;
      std::ranges::copy(seen.key.first(family.addressBytes), entry.address.begin());
      entry.protocol = seen.key[family.addressBytes];
      std::uint16_t port = 0;
      std::memcpy(&port, seen.key.data() + family.addressBytes + 4, sizeof(port));
      entry.port = ntohs(port);
      entry.packets = seen.packets;
      refusals.entries.push_back(entry);
    });
    if (!read) return std::unexpected(read.error());
    refusals.full |= count >= limits::kRefusals;
  }
  return refusals;
}

}  // namespace coffer::walls
