#include "sandbox/sealed.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "model/limits.hpp"

namespace coffer::sandbox {
namespace {

SealedSpec spec() {
  SealedSpec sealed;
  sealed.name = "coffer-17-0-writer-1";
  sealed.slice = "coffer-u1000-17-box.slice";
  sealed.identity = {0x7A000001, "coffer-s1"};
  sealed.command = {{"/usr/libexec/cofferdam/coffer-init.static"}};
  sealed.in = "/run/cofferdam/in/coffer-17-0-writer-1";
  sealed.out = "/run/cofferdam/img/t17/out";
  return sealed;
}

AgentSpec agent() {
  AgentSpec result;
  result.sealed = spec();
  result.namespacePath = "/run/cofferdam/netns/coffer-17-0-writer-1";
  result.workspace = "/run/cofferdam/ws/coffer-17-0-writer-1";
  result.home = "/run/cofferdam/img/t17/home-b";
  return result;
}

template <typename T>
const T* value(const Unit& unit, const std::string& name) {
  for (const auto& property : unit.properties)
    if (property.name == name) return std::get_if<T>(&property.value);
  return nullptr;
}

std::vector<Unit> everyUnit() {
  SealedSpec own = spec();
  return {agentUnit(agent()), workerUnit(own), ownerUnit(own), gatewayUnit({own, ""}), resolverUnit(own)};
}

TEST(SealedUnit, HasNoCapabilityAndGetsNone) {
  for (const auto& unit : everyUnit()) {
    ASSERT_TRUE(value<std::uint64_t>(unit, "CapabilityBoundingSet")) << unit.name;
    EXPECT_EQ(*value<std::uint64_t>(unit, "CapabilityBoundingSet"), 0U);
    EXPECT_EQ(*value<std::uint64_t>(unit, "AmbientCapabilities"), 0U);
    EXPECT_TRUE(*value<bool>(unit, "NoNewPrivileges"));
  }
}

TEST(SealedUnit, KeepsItsRecordUntilWeHaveReadIt) {
  for (const auto& unit : everyUnit()) {
    EXPECT_TRUE(*value<bool>(unit, "RemainAfterExit"));
    EXPECT_EQ(*value<std::string>(unit, "Type"), "exec");
    EXPECT_FALSE(value<std::string>(unit, "CollectMode"));
  }
}

// Every user can read a unit's properties, so nothing of a task may be in them, and nothing may run as root in an
// agent's unit.
TEST(SealedUnit, CarriesNothingOfTheTaskAndRunsNothingElse) {
  for (const auto& unit : everyUnit()) {
    for (const auto& property : unit.properties) {
      EXPECT_FALSE(property.name.starts_with("ExecStop")) << property.name;
      EXPECT_FALSE(property.name.starts_with("ExecStartPre")) << property.name;
      EXPECT_FALSE(property.name.starts_with("ExecStartPost")) << property.name;
      EXPECT_NE(property.name, "EnvironmentFiles");
    }
    if (const auto* environment = value<std::vector<std::string>>(unit, "Environment")) {
      EXPECT_EQ(*environment, (std::vector<std::string>{"HOME=/home/agent", "LANG=C.UTF-8",
                                                        "PATH=/opt/agents/bin:/usr/local/bin:/usr/bin:/bin"}));
    }
  }
}

TEST(AgentUnit, HasTheNamespaceThatCofferWallsMade) {
  const auto unit = agentUnit(agent());
  EXPECT_EQ(*value<std::string>(unit, "NetworkNamespacePath"), "/run/cofferdam/netns/coffer-17-0-writer-1");
  EXPECT_TRUE(*value<bool>(unit, "PrivateNetwork"));
}

TEST(AgentUnit, ShowsAReviewerTheRepositoryReadOnly) {
  const auto binds = [](const Unit& unit, const char* name) { return *value<std::vector<Bind>>(unit, name); };
  const auto holds = [](const std::vector<Bind>& list) {
    return std::ranges::any_of(list, [](const Bind& bind) { return bind.destination == "/src"; });
  };
  auto reviewer = agent();
  reviewer.workspaceReadOnly = true;
  EXPECT_TRUE(holds(binds(agentUnit(reviewer), "BindReadOnlyPaths")));
  EXPECT_FALSE(holds(binds(agentUnit(reviewer), "BindPaths")));
  EXPECT_TRUE(holds(binds(agentUnit(agent()), "BindPaths")));
}

TEST(WorkerUnit, HasNoNetworkAndOneOutput) {
  const auto unit = workerUnit(spec());
  EXPECT_TRUE(*value<bool>(unit, "PrivateNetwork"));
  EXPECT_EQ(value<Filter>(unit, "RestrictAddressFamilies")->entries, std::vector<std::string>{"AF_UNIX"});
  const auto writable = *value<std::vector<Bind>>(unit, "BindPaths");
  ASSERT_EQ(writable.size(), 1U);
  EXPECT_EQ(writable.front().destination, "/out");
}

TEST(GatewayUnit, GetsItsKeyAsACredentialAndOnlyThen) {
  EXPECT_FALSE(value<Pairs>(gatewayUnit({spec(), ""}), "LoadCredentialEncrypted"));
  const auto unit = gatewayUnit({spec(), "/var/lib/cofferdam/keys/3.cred"});
  EXPECT_EQ(*value<Pairs>(unit, "LoadCredentialEncrypted"), (Pairs{{"key", "/var/lib/cofferdam/keys/3.cred"}}));
}

// A mount of another namespace cannot be cloned, so nothing may give the opener one of its own.
// What serves an agent is spared when its user's memory is used up, so it must not be what uses it up.
TEST(ServingUnit, HasOnlySoMuchMemoryAndSoManyProcesses) {
  for (const auto& unit : {gatewayUnit({spec(), ""}), resolverUnit(spec())}) {
    ASSERT_TRUE(value<std::uint64_t>(unit, "MemoryMax")) << unit.name;
    EXPECT_LE(*value<std::uint64_t>(unit, "MemoryMax"), limits::kGatewayMemory);
    EXPECT_EQ(*value<std::uint64_t>(unit, "MemorySwapMax"), 0U);
    ASSERT_TRUE(value<std::uint64_t>(unit, "TasksMax")) << unit.name;
    EXPECT_EQ(*value<std::uint64_t>(unit, "TasksMax"), limits::kServerProcesses);
  }
}

TEST(OpenerUnit, StaysInTheMountNamespaceOfTheHost) {
  const auto unit = openerUnit("coffer-17-0-open-1", "coffer-u1000.slice", 1000, {"request", std::make_shared<Fd>()});
  for (const auto& property : unit.properties)
    for (const char* prefix :
         {"Protect", "Private", "ReadOnly", "ReadWrite", "Inaccessible", "Root", "Bind", "Temporary", "Mount"})
      EXPECT_FALSE(property.name.starts_with(prefix)) << property.name;
  EXPECT_EQ(*value<std::string>(unit, "User"), "1000");
}

TEST(Slice, LeavesALimitOfZeroAway) {
  EXPECT_TRUE(sliceProperties({}).empty());
  EXPECT_EQ(sliceProperties({std::uint64_t{1} << 30U, 512}).size(), 3U);
}

}  // namespace
}  // namespace coffer::sandbox
