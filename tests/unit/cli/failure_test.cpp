#include "failure.hpp"

#include <gtest/gtest.h>

namespace coffer::cli {
namespace {

Failure of(const std::string& name, const std::string& message, std::optional<std::uint64_t> task = std::nullopt,
           const std::string& host = "") {
  return failureOf(sdbus::Error(sdbus::Error::Name(name), message), task, host);
}

TEST(FailureOf, GivesEveryErrorOfOursItsExitCode) {
  for (const auto& entry : kErrors) {
    const auto failed = of(std::string(kErrorPrefix) + std::string(entry.name), "A sentence.");
    EXPECT_EQ(failed.exit, entry.exit) << entry.name;
    EXPECT_EQ(failed.name, entry.name);
    EXPECT_EQ(failed.message, "A sentence.");
  }
}

TEST(FailureOf, KnowsThatNobodyAnswers) {
  for (const auto* name : {"org.freedesktop.DBus.Error.ServiceUnknown", "org.freedesktop.DBus.Error.NameHasNoOwner",
                           "org.freedesktop.DBus.Error.NoReply", "org.freedesktop.DBus.Error.Spawn.ChildExited",
                           "org.freedesktop.DBus.Error.Disconnected", "org.freedesktop.systemd1.NoSuchUnit",
                           "org.freedesktop.DBus.Error.TimedOut", "System.Error.ENOTCONN", "System.Error.ECONNRESET"}) {
    const auto failed = of(name, "why.");
    EXPECT_EQ(failed.exit, ExitCode::NoDaemon) << name;
    EXPECT_EQ(failed.next, "systemctl status cofferd");
    EXPECT_FALSE(failed.message.ends_with("..")) << failed.message;
  }
}

TEST(FailureOf, SaysHowWhatWasSwitchedOffIsSwitchedOn) {
  EXPECT_EQ(of("org.freedesktop.systemd1.UnitMasked", "why.").next, "systemctl unmask cofferd");
  EXPECT_EQ(of("org.freedesktop.systemd1.UnitMasked", "why.", std::nullopt, "me@far").next,
            "ssh me@far systemctl unmask cofferd");
}

TEST(FailureOf, SaysThatWhatWasTypedIsNoText) {
  const auto failed =
      of("org.freedesktop.DBus.Error.InvalidArgs", "Failed to serialize a string value (Invalid argument)");
  EXPECT_EQ(failed.exit, ExitCode::Usage);
  EXPECT_NE(failed.message.find("UTF-8"), std::string::npos);
}

TEST(FailureOf, NamesTheOtherMachine) {
  const auto failed = of("org.freedesktop.DBus.Error.ServiceUnknown", "", std::nullopt, "me@far");
  EXPECT_NE(failed.message.find("me@far"), std::string::npos);
  EXPECT_EQ(failed.next, "ssh me@far systemctl status cofferd");
}

TEST(FailureOf, TurnsRefusalsOfTheBusIntoNotAllowed) {
  EXPECT_EQ(of("org.freedesktop.DBus.Error.AccessDenied", "x").exit, ExitCode::NotAllowed);
  EXPECT_EQ(of("org.freedesktop.DBus.Error.InteractiveAuthorizationRequired", "x").exit, ExitCode::NotAllowed);
}

TEST(FailureOf, ProposesACommandForTheTask) {
  EXPECT_EQ(of("org.cofferdam.Cofferdam1.Error.Stale", "It changed.", 17).next, "coffer show 17");
  EXPECT_EQ(of("org.cofferdam.Cofferdam1.Error.NoProvider", "None.").next, "coffer provider add --help");
}

TEST(FailureOf, ProposesACommandForTheSameMachine) {
  EXPECT_EQ(of("org.cofferdam.Cofferdam1.Error.Stale", "It changed.", 17, "me@far").next, "coffer -H me@far show 17");
  const std::string ours(kErrorPrefix);
  const std::string bus = "org.freedesktop.DBus.Error.";
  const auto next = [](const std::string& name) { return of(name, "x", std::nullopt, "a b").next; };
  EXPECT_EQ(next(ours + "Internal"), "ssh 'a b' journalctl -u cofferd");
  EXPECT_EQ(next(ours + "Stale"), "coffer -H 'a b' list");
  EXPECT_EQ(next(bus + "UnknownMethod"), "ssh 'a b' systemctl restart cofferd");
  EXPECT_EQ(next(bus + "Timeout"), "coffer -H 'a b' list");
  EXPECT_EQ(next(bus + "ServiceUnknown"), "ssh 'a b' systemctl status cofferd");
  EXPECT_EQ(next("org.freedesktop.systemd1.UnitMasked"), "ssh 'a b' systemctl unmask cofferd");
  EXPECT_EQ(next(ours + "Dirty"), "") << "git here would say nothing of the repository there";
}

TEST(FailureOf, LeavesTheCommandToAMessageThatNamesOne) {
  EXPECT_EQ(of("org.cofferdam.Cofferdam1.Error.Stale", "Read it again: coffer plan 17.", 17).next, "");
}

TEST(FailureOf, DoesNotMistakeOtherNamesForOurs) {
  const auto failed = of("com.example.Error.Stale", "x");
  EXPECT_EQ(failed.exit, ExitCode::Failed);
}

}  // namespace
}  // namespace coffer::cli
