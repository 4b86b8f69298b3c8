#include <algorithm>

#include "machine.hpp"
#include "walls/address_ranges.hpp"

namespace coffer::walls::test {
namespace {

using Sandbox = WallsTest;

const RefusalEntry* find(const Refusals& refusals, int family, int protocol, std::uint16_t port) {
  const auto at = std::ranges::find_if(refusals.entries, [&](const RefusalEntry& entry) {
    return entry.family == family && entry.protocol == protocol && entry.port == port;
  });
  return at == refusals.entries.end() ? nullptr : &*at;
}

TEST_F(Sandbox, ReachesWhatListensOnItsLoopbackAndNothingElse) {
  const Fd ofTheHost = listenOn("127.0.0.1", 8080);
  ASSERT_EQ(asUid(1000, "", [] { return reach(SOCK_STREAM, "127.0.0.1", 8080); }), 0);
  auto listeners = walls().createNetns("n");
  ASSERT_TRUE(listeners) << listeners.error().message;
  EXPECT_EQ(asUid(kAgent, "n", [] { return reach(SOCK_STREAM, "127.0.0.1", 4180); }), 0);
  EXPECT_EQ(asUid(kAgent, "n", [] { return reach(SOCK_STREAM, "127.0.0.1", 53); }), 0);
  EXPECT_EQ(asUid(kAgent, "n", [] { return reach(SOCK_DGRAM, "127.0.0.1", 53); }), 0);
  EXPECT_EQ(asUid(kAgent, "n", [] { return reach(SOCK_STREAM, "::1", 1); }), ECONNREFUSED);
  for (const std::uint32_t uid : {kAgent, 1000U})
    EXPECT_EQ(asUid(uid, "n", [] { return reach(SOCK_STREAM, "127.0.0.1", 8080); }), ECONNREFUSED);
  for (const char* address : {"1.1.1.1", "10.0.0.1", "169.254.169.254", "192.168.1.1", "2001:db8::1", "fe80::1"})
    EXPECT_NE(asUid(kAgent, "n", [&] { return reach(SOCK_STREAM, address, 443); }), 0) << address;
  // What was connected is what we hold.
  EXPECT_TRUE(Fd(::accept4(listeners->model.get(), nullptr, nullptr, SOCK_CLOEXEC)));
}

TEST_F(Sandbox, IsRefusedAtOnceAndCountedByDestination) {
  ASSERT_TRUE(walls().createNetns("n"));
  EXPECT_EQ(asUid(kAgent, "n", [] { return reach(SOCK_STREAM, "1.1.1.1", 443); }), ECONNREFUSED);
  EXPECT_EQ(asUid(kAgent, "n", [] { return reach(SOCK_STREAM, "1.1.1.1", 443); }), ECONNREFUSED);
  EXPECT_EQ(asUid(kAgent, "n", [] { return reach(SOCK_DGRAM, "9.9.9.9", 53); }), EPERM);
  EXPECT_EQ(asUid(kAgent, "n", [] { return reach(SOCK_STREAM, "2001:db8::1", 22); }), ECONNREFUSED);
  const auto refusals = walls().refusals("n");
  ASSERT_TRUE(refusals) << refusals.error().message;
  EXPECT_EQ(refusals->entries.size(), 3U);
  EXPECT_FALSE(refusals->full);
  const auto* tcp = find(*refusals, 4, IPPROTO_TCP, 443);
  ASSERT_NE(tcp, nullptr);
  EXPECT_EQ(tcp->packets, 2U);
  EXPECT_EQ(tcp->address[0], 1);
  EXPECT_NE(find(*refusals, 4, IPPROTO_UDP, 53), nullptr);
  EXPECT_NE(find(*refusals, 6, IPPROTO_TCP, 22), nullptr);
}

TEST_F(Sandbox, IsRefusedWhenTheCountIsFull) {
  ASSERT_TRUE(walls().createNetns("n"));
  EXPECT_EQ(asUid(kAgent, "n",
                  [] {
                    for (std::uint16_t port = 1; port <= 1100; ++port)
                      if (reach(SOCK_STREAM, "1.1.1.1", port) != ECONNREFUSED) return 1;
                    return 0;
                  }),
            0);
  const auto refusals = walls().refusals("n");
  ASSERT_TRUE(refusals);
  EXPECT_TRUE(refusals->full);
  EXPECT_EQ(refusals->entries.size(), 1024U);
}

TEST_F(Sandbox, OfTheSameNameIsTheSameOne) {
  auto first = walls().createNetns("n");
  ASSERT_TRUE(first);
  ASSERT_TRUE(walls().createNetns("n"));
  EXPECT_EQ(asUid(kAgent, "n", [] { return reach(SOCK_STREAM, "127.0.0.1", 4180); }), 0);
  EXPECT_TRUE(Fd(::accept4(first->model.get(), nullptr, nullptr, SOCK_CLOEXEC)));
  EXPECT_EQ(walls().list()->size(), 1U);
  ASSERT_TRUE(walls().removeNetns("n"));
  EXPECT_TRUE(walls().list()->empty());
}

TEST_F(Sandbox, DoesNotHearAnother) {
  auto one = walls().createNetns("one");
  auto two = walls().createNetns("two");
  ASSERT_TRUE(one && two);
  EXPECT_EQ(asUid(kAgent, "one", [] { return reach(SOCK_STREAM, "127.0.0.1", 4180); }), 0);
  EXPECT_FALSE(Fd(::accept4(two->model.get(), nullptr, nullptr, SOCK_CLOEXEC)));
}

HostEntry four(const char* address, std::uint16_t port) {
  HostEntry entry{.family = 4, .port = port};
  ::inet_pton(AF_INET, address, entry.address.data());
  return entry;
}

class HostTableTest : public WallsTest {
 protected:
  static std::uint32_t uid(model::UidPart part) { return model::UidRanges().part(part).first + 7; }
  static int tryAs(std::uint32_t uid, const char* address, std::uint16_t port) {
    return asUid(uid, "", [&] { return reach(SOCK_STREAM, address, port); });
  }
};

TEST_F(HostTableTest, LetsOursSpeakToNothingUntilItIsTold) {
  const Fd service = listenOn("127.0.0.1", 8080);
  EXPECT_EQ(tryAs(1000, "127.0.0.1", 8080), 0);
  EXPECT_EQ(tryAs(0, "127.0.0.1", 8080), 0);
  for (const auto part : {model::UidPart::Sandbox, model::UidPart::Gateway, model::UidPart::Relay,
                          model::UidPart::Resolver, model::UidPart::Worker})
    EXPECT_EQ(tryAs(uid(part), "127.0.0.1", 8080), ECONNREFUSED);
  constexpr model::UidRanges kUids;
  EXPECT_EQ(tryAs(kUids.first(), "127.0.0.1", 8080), ECONNREFUSED);
  EXPECT_EQ(tryAs(kUids.last(), "127.0.0.1", 8080), ECONNREFUSED);
  EXPECT_EQ(tryAs(kUids.first() - 1, "127.0.0.1", 8080), 0);
  EXPECT_EQ(tryAs(kUids.last() + 1, "127.0.0.1", 8080), 0);
}

TEST_F(HostTableTest, OpensExactlyWhatAnAdministratorNamedToGatewaysOnly) {
  const Fd named = listenOn("127.0.0.1", 8443);
  const Fd other = listenOn("127.0.0.1", 8444);
  ASSERT_TRUE(walls().hostAdd(HostSetKind::GatewayExact, four("127.0.0.1", 8443)));
  EXPECT_EQ(tryAs(uid(model::UidPart::Gateway), "127.0.0.1", 8443), 0);
  EXPECT_EQ(tryAs(uid(model::UidPart::Gateway), "127.0.0.1", 8444), ECONNREFUSED);
  EXPECT_EQ(tryAs(uid(model::UidPart::Worker), "127.0.0.1", 8443), ECONNREFUSED);
  EXPECT_EQ(tryAs(uid(model::UidPart::Resolver), "127.0.0.1", 8443), ECONNREFUSED);
  ASSERT_TRUE(walls().hostRemove(HostSetKind::GatewayExact, four("127.0.0.1", 8443)));
  ASSERT_TRUE(walls().hostRemove(HostSetKind::GatewayExact, four("127.0.0.1", 8443)));
  EXPECT_EQ(tryAs(uid(model::UidPart::Gateway), "127.0.0.1", 8443), ECONNREFUSED);
}

TEST_F(HostTableTest, KeepsGatewaysFromSpecialAddressesOnAProvidersPort) {
  // As if the machine had these addresses and routes to them.
  ASSERT_EQ(
      shell(
          "(ip address add 203.0.114.5/32 dev lo && ip link add out0 type veth peer name out1 && ip link set out0 up &&"
          " ip link set out1 up && ip address add 10.7.0.1/24 dev out0 && ip route add default dev out0) 2>&1"),
      "");
  const Fd own = listenOn("203.0.114.5", 443);
  ASSERT_TRUE(walls().hostAdd(HostSetKind::GatewayPorts, {.port = 443}));
  EXPECT_EQ(tryAs(1000, "203.0.114.5", 443), 0);
  EXPECT_EQ(tryAs(uid(model::UidPart::Gateway), "203.0.114.5", 443), ECONNREFUSED);  // public, but this machine's own
  for (const char* address : {"10.7.0.9", "10.0.0.1", "169.254.169.254", "192.168.3.4", "100.64.1.1", "198.18.0.1"})
    EXPECT_EQ(tryAs(uid(model::UidPart::Gateway), address, 443), ECONNREFUSED) << address;
  for (const auto& block : model::kSpecialBlocks) {
    if (block.words == model::kMulticastWords || block.bits == 4) continue;  // TCP knows no way to these
    const in_addr second{.s_addr = htonl(block.first + (block.bits < 32 ? 1 : 0))};
    char address[INET_ADDRSTRLEN] = {};
    ASSERT_NE(::inet_ntop(AF_INET, &second, address, sizeof(address)), nullptr);
    EXPECT_EQ(tryAs(uid(model::UidPart::Gateway), address, 443), ECONNREFUSED) << address;
  }
  // A public address passes the table: the packet is sent, and nobody answers.
  EXPECT_EQ(asUid(uid(model::UidPart::Gateway), "",
                  [] {
                    sockaddr_in to{};
                    to.sin_family = AF_INET;
                    to.sin_port = htons(443);
                    ::inet_pton(AF_INET, "203.0.115.1", &to.sin_addr);
                    const Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
                    if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&to), sizeof(to)) == 0) return 0;
                    return errno;
                  }),
            EINPROGRESS);
  EXPECT_EQ(tryAs(uid(model::UidPart::Gateway), "203.0.115.1", 444), ECONNREFUSED);
}

TEST_F(HostTableTest, LetsResolversAskTheNamedServersOnPort53Only) {
  const Fd server = listenOn("127.0.0.53", 53);
  const Fd other = listenOn("127.0.0.54", 53);
  const HostEntry entries[] = {four("127.0.0.53", 0)};
  ASSERT_TRUE(walls().hostReplace(HostSetKind::DnsServers, entries));
  EXPECT_EQ(tryAs(uid(model::UidPart::Resolver), "127.0.0.53", 53), 0);
  EXPECT_EQ(tryAs(uid(model::UidPart::Resolver), "127.0.0.54", 53), ECONNREFUSED);
  EXPECT_EQ(tryAs(uid(model::UidPart::Gateway), "127.0.0.53", 53), 0);
  EXPECT_EQ(tryAs(uid(model::UidPart::Sandbox), "127.0.0.53", 53), ECONNREFUSED);
  ASSERT_TRUE(walls().hostReplace(HostSetKind::DnsServers, {}));
  EXPECT_EQ(tryAs(uid(model::UidPart::Resolver), "127.0.0.53", 53), ECONNREFUSED);
}

TEST_F(HostTableTest, StandsAgainstAFlushAndIsTakenOverWithItsSets) {
  const Fd named = listenOn("127.0.0.1", 8443);
  const Fd other = listenOn("127.0.0.1", 8444);
  ASSERT_TRUE(walls().hostAdd(HostSetKind::GatewayExact, four("127.0.0.1", 8443)));
  machine.end();
  shell("nft flush ruleset 2>&1");
  EXPECT_EQ(tryAs(uid(model::UidPart::Gateway), "127.0.0.1", 8443), 0);
  EXPECT_EQ(tryAs(uid(model::UidPart::Gateway), "127.0.0.1", 8444), ECONNREFUSED);
  std::map<std::string, Fd> kept;
  kept.emplace("host-table", Fd(machine.hostTable()));
  machine.start(FdStore(std::move(kept)));
  EXPECT_EQ(tryAs(uid(model::UidPart::Gateway), "127.0.0.1", 8443), 0);
  ASSERT_TRUE(walls().hostRemove(HostSetKind::GatewayExact, four("127.0.0.1", 8443)));
  EXPECT_EQ(tryAs(uid(model::UidPart::Gateway), "127.0.0.1", 8443), ECONNREFUSED);
}

TEST_F(HostTableTest, IsAboutTheRangeThatItWasToldAndRemembersIt) {
  const Fd named = listenOn("127.0.0.1", 8443);
  constexpr model::UidRanges kMoved(0x71230000);
  const auto gateway = kMoved.part(model::UidPart::Gateway).first + 7;
  ASSERT_TRUE(walls().hostAdd(HostSetKind::GatewayExact, four("127.0.0.1", 8443)));
  EXPECT_EQ(tryAs(kMoved.first(), "127.0.0.1", 8443), 0) << "nobody's yet";
  ASSERT_TRUE(walls().useUids(kMoved.first()));
  EXPECT_EQ(tryAs(kMoved.first(), "127.0.0.1", 8443), ECONNREFUSED);
  EXPECT_EQ(tryAs(kMoved.last(), "127.0.0.1", 8443), ECONNREFUSED);
  EXPECT_EQ(tryAs(gateway, "127.0.0.1", 8443), 0) << "the sets stay";
  EXPECT_EQ(tryAs(model::UidRanges().first(), "127.0.0.1", 8443), 0);
  machine.end();
  std::map<std::string, Fd> kept;
  kept.emplace("host-table", Fd(machine.hostTable()));
  machine.start(FdStore(std::move(kept)));
  EXPECT_EQ(tryAs(kMoved.first(), "127.0.0.1", 8443), ECONNREFUSED);
  EXPECT_EQ(tryAs(gateway, "127.0.0.1", 8443), 0);
  for (const std::uint32_t base : {0U, 1000U, 0x71230001U, 0x7FFE0000U})
    EXPECT_FALSE(walls().useUids(base)) << base;
}

TEST_F(HostTableTest, RefusesEntriesThatSayTooLittle) {
  for (const auto& [set, entry] : {std::pair{HostSetKind::GatewayPorts, HostEntry{}},
                                   {HostSetKind::GatewayPorts, four("1.1.1.1", 443)},
                                   {HostSetKind::GatewayExact, HostEntry{.port = 443}},
                                   {HostSetKind::GatewayExact, four("1.1.1.1", 0)},
                                   {HostSetKind::DnsServers, HostEntry{}}}) {
    auto added = walls().hostAdd(set, entry);
    ASSERT_FALSE(added);
    EXPECT_EQ(added.error().code, ErrorCode::InvalidArgument);
  }
}

TEST(AddressRanges, AreMadeOneWhereTheyTouch) {
  using model::ipv4;
  const auto keys = [](std::vector<AddressRange> ranges) {
    std::string text;
    for (const auto& element : intervalElements(std::move(ranges)))
      text += (element.flags != 0 ? "-" : "+") + std::to_string(element.key[0]) + "." + std::to_string(element.key[3]);
    return text;
  };
  EXPECT_EQ(keys({}), "");
  EXPECT_EQ(keys({{ipv4(9, 0, 0, 0), ipv4(9, 0, 0, 9)}, {ipv4(8, 0, 0, 0), ipv4(8, 0, 0, 0)}}), "+8.0-8.1+9.0-9.10");
  EXPECT_EQ(keys({{ipv4(9, 0, 0, 0), ipv4(9, 0, 0, 4)}, {ipv4(9, 0, 0, 5), ipv4(9, 0, 0, 9)}}), "+9.0-9.10");
  EXPECT_EQ(keys({{ipv4(9, 0, 0, 0), ipv4(9, 0, 0, 9)}, {ipv4(9, 0, 0, 2), ipv4(9, 0, 0, 3)}}), "+9.0-9.10");
  EXPECT_EQ(keys({{ipv4(224, 0, 0, 0), UINT32_MAX}, {ipv4(240, 0, 0, 0), UINT32_MAX}}), "+224.0");
}

}  // namespace
}  // namespace coffer::walls::test
