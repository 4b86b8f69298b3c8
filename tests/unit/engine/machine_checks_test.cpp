#include "engine/machine_checks.hpp"

#include <gtest/gtest.h>

#include "api/authority.hpp"
#include "engine/agent_checks.hpp"

namespace coffer::engine {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20U;

std::unexpected<Error> nobody(const char* words) { return std::unexpected(Error{ErrorCode::Environment, words}); }

/// A check that is not well always says what is wrong and what mends it; one that is says neither.
void expectState(const Check& check, CheckState state) {
  EXPECT_EQ(check.state, state) << check.name << ": " << check.problem;
  EXPECT_EQ(check.problem.empty(), state == CheckState::Ok) << check.name;
  EXPECT_EQ(check.remedy.empty(), state == CheckState::Ok) << check.name;
  EXPECT_FALSE(check.found.empty()) << check.name;
}

TEST(MachineChecks, TakeTheKernelThatHasOwnedTables) {
  for (const auto* release : {"6.9.0", "6.12.48+deb13-amd64", "6.18", "7.0-rc1"})
    expectState(kernelCheck(release), CheckState::Ok);
  for (const auto* release : {"6.8.12", "5.10.0-30-amd64", "6", "", "weird"})
    expectState(kernelCheck(release), CheckState::Failed);
}

TEST(MachineChecks, TakeTheSystemdThatHasPrivatePids) {
  for (const auto* version : {"257.13-1~deb13u1", "257", "258~rc1"})
    expectState(systemdCheck(version), CheckState::Ok);
  for (const auto* version : {"256.7-3", "252", ""})
    expectState(systemdCheck(version), CheckState::Failed);
  expectState(systemdCheck(nobody("no answer in time")), CheckState::Failed);
}

TEST(MachineChecks, LetAnAdministratorAcceptAMissingController) {
  expectState(controllerCheck("memory", false, false), CheckState::Ok);
  expectState(controllerCheck("memory", true, true), CheckState::Warning);
  const auto refused = controllerCheck("memory", true, false);
  expectState(refused, CheckState::Failed);
  EXPECT_EQ(refusalOf(refused).message,
            "no sandbox is started: " + refused.problem + ". To mend it: " + refused.remedy);
  EXPECT_EQ(refusalOf(refused).code, ErrorCode::Sandbox);
}

TEST(MachineChecks, FindSystemdInBothLinesOfTheNameServiceSwitch) {
  const std::string passwd = "passwd:\tfiles systemd\n";
  const std::string group = "group: files [SUCCESS=merge] systemd [NOTFOUND=return] ldap\n";
  expectState(nameServiceCheck(passwd + group, true), CheckState::Ok);
  expectState(nameServiceCheck(passwd + group, false), CheckState::Failed);
  for (const auto& text : {passwd, group, passwd + "group: files # systemd\n", passwd + "#group: systemd\n",
                           passwd + "group: files systemdx\n", std::string()})
    expectState(nameServiceCheck(text, true), CheckState::Failed);
  EXPECT_NE(nameServiceCheck(passwd, true).problem.find("group:"), std::string::npos);
  EXPECT_EQ(nameServiceCheck(passwd, true).problem.find("passwd:"), std::string::npos);
}

TEST(MachineChecks, SayWhatCofferWallsCouldNotDo) {
  const std::optional<Error> why = Error{ErrorCode::Sandbox, "opening /dev/loop-control: No such file or directory"};
  for (const auto& check : {loopCheck(why), tableCheck(why), userNamespaceCheck(why)}) {
    expectState(check, CheckState::Failed);
    EXPECT_NE(check.problem.find(why->message), std::string::npos);
  }
  // Nothing needs it yet.
  expectState(tproxyCheck(why), CheckState::Warning);
  for (const auto& check : {loopCheck({}), tableCheck({}), userNamespaceCheck({}), tproxyCheck({}), wallsCheck({})})
    expectState(check, CheckState::Ok);
  expectState(wallsCheck(nobody("coffer-walls did not answer")), CheckState::Failed);
  const auto older = wallsCheck(std::unexpected(Error{ErrorCode::Unsupported, "coffer-walls is of another version"}));
  EXPECT_EQ(older.found, "of another version");
  EXPECT_EQ(older.remedy, "systemctl restart coffer-walls");
  EXPECT_EQ(refusalOf(older).message,
            "no sandbox is started: coffer-walls is of another version. To mend it: systemctl restart coffer-walls");
}

TEST(MachineChecks, SayOfPolkitWhatARefusedCallSays) {
  expectState(polkitCheck("126"), CheckState::Ok);
  const auto away = polkitCheck(nobody("no answer in time"));
  expectState(away, CheckState::Failed);
  EXPECT_EQ(away.problem, api::kPolkitAway);
  EXPECT_EQ(away.remedy, api::kPolkitRemedy);
}

TEST(MachineChecks, FailForAClockBeforeTheNewestEventOnly) {
  constexpr std::uint64_t kNow = 1'800'000'000'000'000;
  expectState(timeCheck("true", kNow, 0), CheckState::Ok);
  expectState(timeCheck("true", kNow, kNow + 59'000'000), CheckState::Ok);
  expectState(timeCheck("true", kNow, kNow + 61'000'000), CheckState::Failed);
  expectState(timeCheck("false", kNow, 0), CheckState::Warning);
  expectState(timeCheck(nobody("no such service"), kNow, 0), CheckState::Warning);
}

TEST(MachineChecks, CountTheDiskToItsFloorAndAShareToItsEnd) {
  const AdmissionLimits limits{.places = 1, .placesOfUser = 1, .floorBytes = 100 * kMiB, .userDiskBytes = 50 * kMiB};
  expectState(diskCheck({100 * kMiB, 1000 * kMiB}, limits), CheckState::Ok);
  expectState(diskCheck({100 * kMiB - 1, 1000 * kMiB}, limits), CheckState::Failed);
  expectState(shareCheck({}, {.images = 50 * kMiB - 1, .projects = 0}, limits), CheckState::Ok);
  expectState(shareCheck({}, {.images = 49 * kMiB, .projects = kMiB}, limits), CheckState::Failed);
  // Without a number it is half of the disk, and on a small one what a task beside the projects takes.
  const AdmissionLimits unset{.floorBytes = 0, .userDiskBytes = 0, .taskBytes = 200 * kMiB};
  const DiskSpace large{0, 1'000'000 * kMiB};
  expectState(shareCheck(large, {.images = 499'999 * kMiB, .projects = 0}, unset), CheckState::Ok);
  expectState(shareCheck(large, {.images = 500'000 * kMiB, .projects = 0}, unset), CheckState::Failed);
  expectState(shareCheck({0, 1000 * kMiB}, {.images = 199 * kMiB, .projects = 900 * kMiB}, unset), CheckState::Ok);
  expectState(shareCheck({0, 1000 * kMiB}, {.images = 200 * kMiB, .projects = 900 * kMiB}, unset), CheckState::Failed);
}

TEST(MachineChecks, AreWhatATaskThatWaitsForTheDiskIsTold) {
  const AdmissionLimits limits{.places = 1, .placesOfUser = 1, .floorBytes = 100 * kMiB, .userDiskBytes = 0};
  const DiskSpace full{10 * kMiB, 1000 * kMiB};
  const auto waits = refusal({1, 1000, {}}, {}, full, {}, limits);
  ASSERT_TRUE(waits);
  EXPECT_EQ(waits->code, "space");
  const auto check = diskCheck(full, limits);
  EXPECT_NE(waits->words.find(check.problem + ". To mend it: " + check.remedy), std::string::npos);
}

TEST(MachineChecks, NameTheFileThatHasAFault) {
  expectState(configurationCheck(0, {}), CheckState::Ok);
  const auto fault = configurationCheck(1, "/etc/cofferdam/cofferd.toml:3: unknown key colour");
  expectState(fault, CheckState::Failed);
  EXPECT_NE(fault.remedy.find("/etc/cofferdam/cofferd.toml"), std::string::npos);
  EXPECT_NE(configurationCheck(2, "/x:1: y").name, fault.name);
}

}  // namespace
}  // namespace coffer::engine
