#include "task_view.hpp"

#include <gtest/gtest.h>

#include "run_view.hpp"

namespace coffer::cli {
namespace {

Dictionary task(const std::string& state, const std::string& parked = "", std::vector<std::string> actions = {}) {
  return {{"Id", sdbus::Variant(std::uint64_t{17})},
          {"ProjectName", sdbus::Variant(std::string("zlib"))},
          {"Title", sdbus::Variant(std::string("Fix the overflow"))},
          {"State", sdbus::Variant(state)},
          {"Parked", sdbus::Variant(parked)},
          {"Actions", sdbus::Variant(std::move(actions))},
          {"Round", sdbus::Variant(std::uint32_t{1})},
          {"Rounds", sdbus::Variant(std::uint32_t{3})}};
}

Dictionary waiting(Dictionary values, const std::string& code, const std::string& words, std::uint64_t until) {
  values["Waiting"] = sdbus::Variant(WaitingFor{code, words, until});
  return values;
}

TEST(TaskView, SaysWhereItStandsAndWhatIsNext) {
  const TaskView plan(task("plan-ready", "", {"accept-plan", "reply", "cancel"}));
  EXPECT_TRUE(plan.needsYou());
  EXPECT_EQ(plan.where(), "plan to read");
  EXPECT_EQ(plan.name(), "17 zlib: Fix the overflow");
  EXPECT_EQ(plan.nextCommands(), (std::vector<std::string>{"plan 17", "accept 17", "reply 17 \"...\""}));

  const TaskView work(task("ready", "", {"accept-work", "reply", "cancel"}));
  EXPECT_EQ(work.nextCommands().front(), "diff 17");

  const TaskView writing(task("writing", "", {"cancel"}));
  EXPECT_FALSE(writing.needsYou());
  EXPECT_EQ(writing.where(), "writing, round 1 of 3");
  EXPECT_EQ(writing.nextCommands(), (std::vector<std::string>{"watch 17"}));
}

TEST(TaskView, AQuestionNeedsYou) {
  const TaskView view(task("writing", "question", {"reply", "cancel"}));
  EXPECT_TRUE(view.needsYou());
  EXPECT_EQ(view.where(), "asks you something");
  EXPECT_EQ(view.nextCommands(), (std::vector<std::string>{"show 17", "reply 17 \"...\""}));
}

TEST(TaskView, WhatCanBeRetriedSaysSo) {
  const TaskView blocked(task("writing", "blocked", {"reply", "retry", "cancel"}));
  EXPECT_EQ(blocked.nextCommands(), (std::vector<std::string>{"retry 17", "reply 17 \"...\""}));
  const TaskView failed(task("failed", "", {"retry", "delete"}));
  EXPECT_EQ(failed.nextCommands(), (std::vector<std::string>{"log 17", "retry 17"}));
}

TEST(TaskView, WhatPassesByItselfDoesNotNeedYou) {
  EXPECT_FALSE(TaskView(waiting(task("writing", "retry"), "rate-limited", "The provider is busy", 5)).needsYou());
  EXPECT_TRUE(TaskView(waiting(task("writing", "retry"), "auth-failed", "The key is refused", 0)).needsYou());
  EXPECT_TRUE(TaskView(waiting(task("writing", "blocked"), "no-change", "It changed nothing", 0)).needsYou());
}

TEST(TaskView, AnEndedTaskNeedsNobody) {
  for (const auto* state : {"done", "failed", "cancelled"}) {
    const TaskView view(task(state, "", {"delete"}));
    EXPECT_TRUE(view.ended()) << state;
    EXPECT_FALSE(view.needsYou()) << state;
  }
}

TEST(TaskView, MakesTextsOfAgentsHarmless) {
  auto values = task("writing");
  values["Title"] = sdbus::Variant(std::string("a\x1b[2J\nsecond"));
  EXPECT_EQ(TaskView(values).title, "a<U+001B>[2J…");
}

TEST(TaskView, SurvivesMissingAndMistypedProperties) {
  const TaskView view(Dictionary{{"Id", sdbus::Variant(std::string("17"))}});
  EXPECT_EQ(view.id, 0U);
  EXPECT_FALSE(view.nextCommands().empty());
}

TEST(RunView, SaysWhoDidWhat) {
  const RunView run(
      {{"Id", sdbus::Variant(std::uint64_t{3})},
       {"Kind", sdbus::Variant(std::string("turn"))},
       {"Role", sdbus::Variant(std::string("writer"))},
       {"Agent", sdbus::Variant(std::string("codex"))},
       {"Model", sdbus::Variant(std::string("m"))},
       {"Round", sdbus::Variant(std::uint32_t{1})},
       {"Attempt", sdbus::Variant(std::uint32_t{2})},
       {"Started", sdbus::Variant(std::uint64_t{1'000'000})},
       {"Ended", sdbus::Variant(std::uint64_t{4'000'000})},
       {"Result", sdbus::Variant(std::string("ok"))},
       {"Usage", sdbus::Variant(std::map<std::string, std::uint64_t>{{"input", 10}, {"cached", 8}, {"output", 5}})}});
  EXPECT_EQ(run.what(), "writer (codex/m), round 1, attempt 2");
  EXPECT_EQ(run.length(9'000'000).count(), 3'000'000);
  EXPECT_EQ(run.tokens, 23U);
  EXPECT_TRUE(run.good());
}

TEST(RunView, SaysHowARunEnded) {
  const auto ended = [](const std::string& result, std::int32_t code) {
    return RunView(Dictionary{{"Kind", sdbus::Variant(std::string("gate"))},
                              {"Role", sdbus::Variant(std::string("gate"))},
                              {"Text", sdbus::Variant(std::string("make test"))},
                              {"Result", sdbus::Variant(result)},
                              {"Code", sdbus::Variant(code)}});
  };
  EXPECT_EQ(ended("success", 0).what(), "gate make test");
  EXPECT_EQ(ended("success", 0).outcome(), "ok");
  EXPECT_EQ(ended("exit-code", 2).outcome(), "exit code 2");
  EXPECT_EQ(ended("signal", 9).outcome(), "killed by signal 9");
  EXPECT_EQ(ended("oom-kill", 9).outcome(), "out of memory");
  EXPECT_EQ(ended("timeout", 0).outcome(), "took too long");
  EXPECT_EQ(ended("interrupted", 0).outcome(), "interrupted");
}

}  // namespace
}  // namespace coffer::cli
