#include "machine.hpp"
#include "walls/nft_table.hpp"
#include "walls/user_namespace.hpp"

namespace coffer::walls::test {
namespace {

using Probe = WallsTest;

/// Nothing when it can be had, otherwise why not.
std::optional<Error> probed(WallsClient& walls, Flag what) {
  const auto asked = walls.askProbe(what);
  EXPECT_TRUE(asked) << asked.error().message;
  auto told = walls.takeProbe();
  EXPECT_TRUE(told) << told.error().message;
  return told ? *told : std::nullopt;
}

TEST_F(Probe, FindsWhatThisMachineHasAndLeavesNothing) {
  const auto before = shell("nft list tables");
  for (const auto what : {Flag::TryLoop, Flag::TryTable, Flag::TryUserNamespace, Flag::TryTproxy}) {
    const auto why = probed(walls(), what);
    EXPECT_FALSE(why) << why->message;
  }
  EXPECT_EQ(shell("nft list tables"), before);
  EXPECT_TRUE(walls().list()->empty());
}

TEST_F(Probe, SaysThatThereIsNoLoopDevice) {
  ASSERT_EQ(::mount("/dev/null", "/dev/loop-control", nullptr, MS_BIND, nullptr), 0);
  const auto why = probed(walls(), Flag::TryLoop);
  EXPECT_EQ(::umount("/dev/loop-control"), 0);
  ASSERT_TRUE(why);
  EXPECT_NE(why->message.find("loop device"), std::string::npos) << why->message;
  EXPECT_FALSE(probed(walls(), Flag::TryLoop));
}

/// A number of /proc/sys/user counts for the user namespace of whoever writes it: here one of the test's own.
TEST(UserNamespace, ThatCannotBeMadeSaysSo) {
  const pid_t child = ::fork();
  if (child == 0) {
    if (::unshare(CLONE_NEWUSER) != 0) ::_exit(100);
    const Fd limit(::open("/proc/sys/user/max_user_namespaces", O_WRONLY | O_CLOEXEC));
    if (::write(limit.get(), "0", 1) != 1) ::_exit(101);
    const auto made = makeUserNamespace({.fromUid = kAgent, .fromGid = kAgent, .to = kAgent});
    ::_exit(made ? 102 : made.error().message.contains("user namespace") ? 0 : 103);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(Probe, FindsTheTableOursWhileNobodyCanTakeItAway) {
  EXPECT_NE(shell("nft delete table inet cofferdam 2>&1"), "");
  EXPECT_FALSE(probed(walls(), Flag::TryTable));
}

TEST_F(Probe, SaysThatTheTableIsNotOursAnyMore) {
  // As when an administrator's program was given the socket, or the kernel lost it: the owner itself takes it away.
  auto netlink = Netlink::adopt(Fd(::fcntl(machine.hostTable(), F_DUPFD_CLOEXEC, 0)));
  ASSERT_TRUE(netlink) << netlink.error().message;
  NftBatch batch;
  NftTable("cofferdam").destroy(batch);
  ASSERT_TRUE(netlink->send(batch.finish(), "removing the table"));
  const auto why = probed(walls(), Flag::TryTable);
  ASSERT_TRUE(why);
  EXPECT_NE(why->message.find("not ours"), std::string::npos) << why->message;
}

TEST_F(Probe, IsToldApartFromOneThatCofferWallsDoesNotKnow) {
  const auto both =
      static_cast<Flag>(static_cast<std::uint32_t>(Flag::TryLoop) | static_cast<std::uint32_t>(Flag::TryTable));
  // As a coffer-walls from before answers to everything.
  for (const auto what : {both, Flag{}, Flag::NoExec}) {
    ASSERT_TRUE(walls().askProbe(what));
    const auto told = walls().takeProbe();
    ASSERT_FALSE(told);
    EXPECT_EQ(told.error().code, ErrorCode::Unsupported);
    EXPECT_NE(told.error().message.find("another version"), std::string::npos) << told.error().message;
  }
}

}  // namespace
}  // namespace coffer::walls::test
