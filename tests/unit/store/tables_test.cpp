#include "fixture.hpp"
#include "model/limits.hpp"

namespace coffer::store {
namespace {

class Tables : public StoreTest {};

TEST_F(Tables, AUidIsHeldUntilItIsReleasedAndThenTheLastToComeAgain) {
  auto& uids = store_->uids();
  const auto first = *uids.take(model::UidPart::Sandbox, 1, "conversation A", 1);
  const auto second = *uids.take(model::UidPart::Sandbox, 1, "conversation B", 1);
  EXPECT_EQ(first, 0x7A000000U);
  EXPECT_EQ(second, 0x7A000001U);
  EXPECT_EQ(*uids.take(model::UidPart::Gateway, 1, "g", 1), 0x7A080000U);
  ASSERT_TRUE(uids.release(first));
  reopen();
  EXPECT_EQ(*store_->uids().take(model::UidPart::Sandbox, 2, "c", 1), second + 1);
  const auto held = *store_->uids().ofTask(1);
  ASSERT_EQ(held.size(), 2U);
  EXPECT_EQ(held[0].holder, "conversation B");
}

TEST_F(Tables, TheEndOfAPartBeginsAgainAndSkipsWhatIsHeld) {
  const auto range = model::UidRanges().part(model::UidPart::Sandbox);
  store_->database().script("INSERT INTO counters VALUES ('uid.sandbox', " + std::to_string(range.last) + ")");
  EXPECT_EQ(*store_->uids().take(model::UidPart::Sandbox, 1, "a", 1), range.last);
  store_->database().script("INSERT INTO uids VALUES (" + std::to_string(range.first) + ", 'sandbox', 1, 'old', 1)");
  EXPECT_EQ(*store_->uids().take(model::UidPart::Sandbox, 1, "b", 1), range.first + 1);
}

TEST_F(Tables, APartThatIsAllHeldIsALimit) {
  const auto range = model::UidRanges().part(model::UidPart::Resolver);
  store_->database().script("WITH RECURSIVE n(u) AS (SELECT " + std::to_string(range.first) +
                            " UNION ALL SELECT u + 1 FROM n WHERE u < " + std::to_string(range.last) +
                            ") INSERT INTO uids SELECT u, 'resolver', 1, 'x', 1 FROM n");
  EXPECT_EQ(store_->uids().take(model::UidPart::Resolver, 1, "a", 1).error().code, ErrorCode::Limit);
  ASSERT_TRUE(store_->uids().release(range.last - 3));
  EXPECT_EQ(*store_->uids().take(model::UidPart::Resolver, 1, "a", 1), range.last - 3);
}

TEST_F(Tables, TheRangeMovesOnlyWhileNothingOfTheOldOneIsHeld) {
  EXPECT_EQ(store_->uids().useBase(0x71000000)->first(), 0x71000000U);
  const auto held = *store_->uids().take(model::UidPart::Sandbox, 1, "a", 1);
  EXPECT_EQ(held, 0x71000000U);
  EXPECT_EQ(store_->uids().useBase(0x72000000)->first(), 0x71000000U);
  reopen();
  EXPECT_EQ(*store_->uids().take(model::UidPart::Sandbox, 1, "b", 1), held + 1);
  ASSERT_TRUE(store_->uids().release(held));
  ASSERT_TRUE(store_->uids().release(held + 1));
  EXPECT_EQ(store_->uids().useBase(0x72000000)->first(), 0x72000000U);
}

TEST_F(Tables, AConversationKeepsItsUidAndGivesItBackWhenItsHomeIsGone) {
  const auto first = *store_->conversations().get(1, "B", 1);
  EXPECT_EQ(store_->conversations().get(1, "B", 1)->uid, first.uid);
  const auto other = *store_->conversations().get(1, "C1", 1);
  EXPECT_NE(other.uid, first.uid);
  EXPECT_FALSE(*store_->conversations().find(2, "B"));
  ASSERT_TRUE(store_->conversations().gone(first.id));
  EXPECT_EQ(store_->uids().all()->size(), 1U);
  EXPECT_TRUE(store_->conversations().ofTask(1)->front().gone);
  EXPECT_FALSE(store_->conversations().ofTask(1)->back().gone);
}

TEST_F(Tables, AUnitsNameIsUsedOnce) {
  const RunStart start{.task = 1,
                       .step = "coffer-1-0-writer-1",
                       .kind = "turn",
                       .role = "writer",
                       .unit = "coffer-1-0-writer-1.service",
                       .uid = 0x7A000000,
                       .boot = "b",
                       .started = 4};
  const auto run = *store_->runs().begin(start);
  const auto again = store_->runs().begin(start);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, ErrorCode::WrongState);
  const auto found = *store_->runs().byUnit(start.unit);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->id, run);
  EXPECT_EQ(found->start.uid, 0x7A000000U);
  EXPECT_EQ(found->end.ended, 0U);
  EXPECT_FALSE(*store_->runs().byUnit("other.service"));
}

TEST_F(Tables, ARunEndsOnce) {
  const auto run = *store_->runs().begin({.task = 1, .unit = "a.service"});
  EXPECT_TRUE(*store_->runs().end(
      {.run = run, .ended = 8, .result = "ok", .invocation = "abc", .usage = {.output = 5, .costMicro = 7}}));
  EXPECT_FALSE(*store_->runs().end({.run = run, .ended = 9, .result = "failed", .usage = {.output = 50}}));
  const auto ended = store_->runs().ofTask(1)->front();
  EXPECT_EQ(ended.end.result, "ok");
  EXPECT_EQ(ended.end.usage.output, 5);
  EXPECT_EQ(ended.end.usage.costMicro, 7);
  EXPECT_EQ(ended.end.invocation, "abc");
}

TEST_F(Tables, FindingsBelongToARun) {
  const auto run = *store_->runs().begin({.task = 1, .unit = "r.service"});
  ASSERT_TRUE(store_->findings().add({.task = 1,
                                      .run = run,
                                      .id = "f1",
                                      .round = 1,
                                      .source = "review",
                                      .severity = "error",
                                      .blocking = true,
                                      .path = "a.c",
                                      .line = 3,
                                      .title = "T",
                                      .text = "X"}));
  EXPECT_FALSE(store_->findings().add({.task = 1, .run = run + 1, .id = "f2"}));
  const auto found = *store_->findings().ofTask(1);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_TRUE(found[0].blocking);
  EXPECT_EQ(found[0].line, 3U);
}

TEST_F(Tables, FindingsOfTheNewestRoundComeFirst) {
  const auto run = *store_->runs().begin({.task = 1, .unit = "r.service"});
  for (const auto& [id, round] : {std::pair{"a", 0U}, std::pair{"b", 0U}, std::pair{"c", 1U}, std::pair{"d", 1U}})
    ASSERT_TRUE(store_->findings().add({.task = 1, .run = run, .id = id, .round = round}));
  std::string order;
  for (const auto& finding : *store_->findings().ofTask(1))
    order += finding.id;
  EXPECT_EQ(order, "cdab");
}

TEST_F(Tables, RefusalsAreCountedAndBounded) {
  const Refusal one{
      .role = "writer", .protocol = "tcp", .address = "192.0.2.1", .port = 443, .reason = "network", .count = 2};
  ASSERT_TRUE(store_->refusals().add(1, one));
  ASSERT_TRUE(store_->refusals().add(1, one));
  EXPECT_EQ(store_->refusals().ofTask(1)->front().count, 4U);
  auto all = store_->transaction();
  for (std::uint64_t port = 0; port < limits::kRefusalRows + 20; ++port) {
    Refusal other = one;
    other.port = static_cast<std::uint16_t>(port);
    static_cast<void>(store_->refusals().add(1, other));
  }
  ASSERT_TRUE(all.finish());
  EXPECT_LE(store_->refusals().ofTask(1)->size(), limits::kRefusalRows + 1);
}

Project zlib(std::uint32_t owner = 1000) {
  return {.owner = owner,
          .name = "zlib",
          .directory =
              "/home/a/zl\xff"
              "ib",
          .authorName = "Alice",
          .authorEmail = "a@x",
          .created = 3,
          .build = {"make", "make check"},
          .test = {"./t"},
          .policy = {{"plan", "auto"}},
          .agents = {{"writer", "codex"}}};
}

TEST_F(Tables, AProjectIsKeptWithItsSettings) {
  const auto id = *store_->projects().add(zlib());
  auto project = *store_->projects().get(id);
  EXPECT_EQ(project.directory,
            "/home/a/zl\xff"
            "ib");
  EXPECT_EQ(project.build, (std::vector<std::string>{"make", "make check"}));
  EXPECT_EQ(project.policy.at("plan"), "auto");
  project.build = {"ninja"};
  project.policy.clear();
  project.networks["writer"] = "none";
  ASSERT_TRUE(store_->projects().set(project));
  reopen();
  project = *store_->projects().get(id);
  EXPECT_EQ(project.build, std::vector<std::string>{"ninja"});
  EXPECT_TRUE(project.policy.empty());
  EXPECT_EQ(project.networks.at("writer"), "none");
}

TEST_F(Tables, AProjectKnowsTheCommitThatWasTakenLast) {
  const auto id = *store_->projects().add(zlib());
  ASSERT_TRUE(store_->projects().setBase(id, "c2"));
  const auto project = *store_->projects().get(id);
  EXPECT_EQ(project.base, "c2");
  EXPECT_EQ(project.build, zlib().build);
}

TEST_F(Tables, AProjectsNameIsItsOwnersOnlyOne) {
  const auto id = *store_->projects().add(zlib());
  EXPECT_EQ(store_->projects().add(zlib()).error().code, ErrorCode::NameTaken);
  const auto other = *store_->projects().add(zlib(1001));
  EXPECT_EQ(*store_->projects().byName(1000, "zlib"), id);
  EXPECT_EQ(*store_->projects().byName(1001, "zlib"), other);
  EXPECT_FALSE(*store_->projects().byName(1002, "zlib"));
  EXPECT_EQ(store_->projects().list(1000)->size(), 1U);
  EXPECT_EQ(store_->projects().list({})->size(), 2U);
  EXPECT_EQ(store_->projects().get(99).error().code, ErrorCode::UnknownObject);
}

TEST_F(Tables, AProjectIsRemovedWhenItsTasksHaveEndedAndItsNameIsFree) {
  const auto id = *store_->projects().add(zlib());
  auto task = make();
  EXPECT_EQ(store_->projects().remove(id).error().code, ErrorCode::Busy);
  tell(task, model::Cancelled{});
  ASSERT_TRUE(store_->projects().remove(id));
  EXPECT_EQ(store_->projects().remove(id).error().code, ErrorCode::UnknownObject);
  EXPECT_NE(*store_->projects().add(zlib()), id);
  EXPECT_TRUE(store_->projects().get(id)->removed);
}

TEST_F(Tables, WhatWasAFormerUsersIsNobodysWhenTheirUidIsGivenAgain) {
  auto& owners = store_->owners();
  const auto project = *store_->projects().add(zlib());
  const auto provider = *store_->providers().add({.name = "p", .owner = 1000, .hasKey = true});
  const auto machines = *store_->providers().add({.name = "m", .machine = true, .users = {}, .groups = {}});
  ASSERT_TRUE(store_->providers().setSpenders(machines, {1000, 1001}, {}));
  auto fact = created(*store_->tasks().newId());
  fact.project = project;
  const auto task = tell({}, fact);
  ASSERT_TRUE(store_->requests().keep({1000, "id", "AddProject", "1", 5}));
  ASSERT_TRUE(owners.remember(1000, "ada"));
  ASSERT_TRUE(owners.remember(1000, "bob"));
  EXPECT_EQ(*owners.name(1000), "ada") << "who was there first";
  EXPECT_EQ(*owners.all(), (std::vector<std::uint32_t>{1000, 1001}));

  EXPECT_EQ(*owners.disown(1000, "bob"), std::vector<std::uint64_t>{provider});
  reopen();
  EXPECT_EQ(*store_->owners().name(1000), "bob");
  EXPECT_TRUE(store_->projects().list(1000)->empty());
  EXPECT_FALSE(*store_->projects().byName(1000, "zlib"));
  EXPECT_TRUE(*store_->projects().isDisowned(project));
  EXPECT_EQ(store_->projects().list({})->size(), 1U) << "an administrator sees it";
  store::TaskFilter filter;
  filter.owner = 1000;
  EXPECT_TRUE(store_->tasks().list(filter, 0, 10)->empty());
  EXPECT_TRUE(store_->tasks().events(0, 10, 1000, {})->empty());
  EXPECT_TRUE(store_->tasks().events(0, 10, 1000, task.id)->empty());
  filter.owner.reset();
  ASSERT_EQ(store_->tasks().list(filter, 0, 10)->size(), 1U);
  EXPECT_EQ(store_->tasks().list(filter, 0, 10)->front().owner, 4294967295U);
  EXPECT_EQ(store_->providers().get(provider).error().code, ErrorCode::UnknownObject);
  EXPECT_EQ(store_->providers().get(machines)->users, std::vector<std::uint32_t>{1001});
  EXPECT_FALSE(*store_->requests().find(1000, "id", "AddProject"));
  // The name is free, and what is added now is the new user's.
  const auto mine = *store_->projects().add(zlib());
  EXPECT_EQ(*store_->projects().byName(1000, "zlib"), mine);
  fact.id = *store_->tasks().newId();
  fact.project = mine;
  tell({}, fact);
  filter.owner = 1000;
  EXPECT_EQ(store_->tasks().list(filter, 0, 10)->size(), 1U);
}

TEST_F(Tables, AProvidersKeyIsForTheUrlItWasGivenFor) {
  auto& providers = store_->providers();
  const auto id = *providers.add({.name = "openai", .owner = 1000, .kind = "openai", .baseUrl = "https://a/"});
  ASSERT_TRUE(providers.setKeyPresent(id, true, "...xyz"));
  EXPECT_FALSE(*providers.setBaseUrl(id, "https://a/"));
  EXPECT_TRUE(providers.get(id)->hasKey);
  EXPECT_TRUE(*providers.setBaseUrl(id, "https://b/"));
  EXPECT_FALSE(providers.get(id)->hasKey);
  EXPECT_EQ(providers.get(id)->keyHint, "");
  EXPECT_EQ(providers.setKeyPresent(99, true, "").error().code, ErrorCode::UnknownObject);
}

TEST_F(Tables, ProvidersAreSomebodysOrTheMachines) {
  auto& providers = store_->providers();
  const auto mine = *providers.add({.name = "p", .owner = 1000});
  EXPECT_EQ(providers.add({.name = "p", .owner = 1000}).error().code, ErrorCode::NameTaken);
  const auto machine = *providers.add({.name = "p", .machine = true, .users = {1000}, .groups = {7}});
  ASSERT_TRUE(providers.add({.name = "p", .owner = 1001}));
  const auto seen = *providers.list(1000);
  ASSERT_EQ(seen.size(), 2U);
  EXPECT_EQ(seen[0].id, mine);
  EXPECT_EQ(seen[1].id, machine);
  EXPECT_EQ(seen[1].groups, std::vector<std::uint32_t>{7});
  ASSERT_TRUE(providers.setSpenders(machine, {}, {}));
  EXPECT_TRUE(providers.get(machine)->users.empty());
  ASSERT_TRUE(providers.remove(mine));
  EXPECT_EQ(providers.get(mine).error().code, ErrorCode::UnknownObject);
}

}  // namespace
}  // namespace coffer::store
