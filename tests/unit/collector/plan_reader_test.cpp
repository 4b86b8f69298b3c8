#include "workers/collector/plan_reader.hpp"

#include <gtest/gtest.h>

#include "mutate.hpp"

namespace coffer::collector {
namespace {

const std::string kHead = "+++\nkind = \"feature\"\nsummary = \"Add a thing\"\n+++\n\n## Goal\n\nA thing.\n\n";
const std::string kGood =
    kHead +
    "## Acceptance criteria\n\n- [ ] It is there\n- [x] It says\n  what it does\n\n## Out of scope\n\n- [ ] not one\n";

std::string refusalWith(const std::string& criterion) {
  return readPlan(kHead + "## Acceptance criteria\n\n- [ ] " + criterion + "\n").refusal;
}

TEST(Plan, IsReadWhole) {
  const auto plan = readPlan(kGood);
  EXPECT_EQ(plan.refusal, "");
  EXPECT_EQ(plan.kind, "feature");
  EXPECT_EQ(plan.summary, "Add a thing");
  EXPECT_EQ(plan.criteria, (std::vector<std::string>{"It is there", "It says what it does"}));
  EXPECT_FALSE(plan.nothingToBuild);
}

TEST(Plan, TakesAHeadingOfAnyLevelAndCaseAndLineEnds) {
  EXPECT_EQ(readPlan("+++\r\nkind='bug'\r\nsummary='s'\r\nnothing-to-build = true\r\n+++\r\n#### acceptance CRITERIA "
                     "##\r\n* [X] a\r\n")
                .criteria,
            std::vector<std::string>{"a"});
}

TEST(Plan, IgnoresHeaderKeysItDoesNotKnow) {
  EXPECT_EQ(
      readPlan("+++\nkind='other'\nsummary='s'\nmodules=['a','b']\nmode='x'\n+++\n# Acceptance criteria\n- [ ] a\n")
          .refusal,
      "");
}

TEST(Plan, IsNotSentBackForItsKind) {
  const auto plan = readPlan("+++\nkind='docs'\nsummary='s'\n+++\n# Acceptance criteria\n- [ ] a\n");
  EXPECT_EQ(plan.refusal, "");
  EXPECT_EQ(plan.kind, "other");
}

TEST(Plan, ABoxInCodeIsNoCriterion) {
  EXPECT_NE(readPlan(kHead + "## Acceptance criteria\n\n```\n- [ ] a\n```\n").refusal, "");
  EXPECT_NE(readPlan(kHead + "```\n## Acceptance criteria\n```\n- [ ] a\n").refusal, "");
}

TEST(Plan, WithoutHeaderKindSummaryOrCriteriaIsRefusedWithWhatToDo) {
  EXPECT_NE(readPlan("").refusal.find("empty"), std::string::npos);
  EXPECT_NE(readPlan("# Plan\n").refusal.find("+++"), std::string::npos);
  EXPECT_NE(readPlan("+++\nkind='bug'\n").refusal.find("no end"), std::string::npos);
  EXPECT_NE(readPlan("+++\nkind=\n+++\n").refusal.find("plan.md:1:"), std::string::npos)
      << readPlan("+++\nkind=\n+++\n").refusal;
  EXPECT_NE(readPlan("+++\nkind='bug'\n+++\n").refusal.find("summary"), std::string::npos);
  EXPECT_NE(readPlan(kHead).refusal.find("## Acceptance criteria"), std::string::npos);
  EXPECT_NE(readPlan(std::string("+++\n\0", 5)).refusal.find("UTF-8"), std::string::npos);
}

TEST(Plan, ASummaryIsMeasuredInCharacters) {
  const auto with = [](const std::string& summary) {
    return readPlan("+++\nkind='bug'\nsummary='" + summary + "'\n+++\n# Acceptance criteria\n- [ ] a\n").refusal;
  };
  std::string umlauts;
  for (int i = 0; i < 72; ++i)
    umlauts += "\u00e4";
  EXPECT_EQ(with(umlauts), "");
  EXPECT_NE(with(umlauts + "x").find("73 characters"), std::string::npos);
}

TEST(Plan, APlaceholderIsNoCriterion) {
  EXPECT_NE(refusalWith("...").find("placeholder"), std::string::npos);
  EXPECT_NE(refusalWith("").find("placeholder"), std::string::npos);
  EXPECT_EQ(refusalWith("The ... operator is parsed"), "");
}

TEST(Plan, ThatACommandSucceedsIsNoCriterion) {
  EXPECT_NE(refusalWith("`make test` passes"), "");
  EXPECT_NE(refusalWith("`cargo test --all` is green"), "");
  EXPECT_NE(refusalWith("Everything in `./gradlew check` succeeds"), "");
  EXPECT_EQ(refusalWith("`make install` writes the header"), "");
  EXPECT_EQ(refusalWith("A wrong password does not pass"), "");
  EXPECT_EQ(refusalWith("`makeThing()` passes its argument on"), "");
}

TEST(Plan, AnyBytesGiveAReading) {
  Mutations mutations(5);
  int refused = 0;
  for (int i = 0; i < 2000; ++i)
    if (!readPlan(mutations.of(kGood)).refusal.empty()) ++refused;
  EXPECT_GT(refused, 40);
  EXPECT_LT(refused, 2000);
  EXPECT_NE(readPlan("+++\nx = " + std::string(200000, '[') + "\n+++\n").refusal, "");
  EXPECT_NE(readPlan("+++\nkind='bug'\nsummary='s'\n+++\n# Acceptance criteria\n" + std::string(100000, '`')).refusal,
            "");
}

}  // namespace
}  // namespace coffer::collector
