#include "workers/collector/turn.hpp"

#include <gtest/gtest.h>

#include "agents/data_set.hpp"
#include "agents/descriptor.hpp"
#include "mutate.hpp"
#include "scratch_folder.hpp"

namespace coffer::collector {
namespace {

class TurnTest : public testing::Test {
 protected:
  void SetUp() override {
    set_.reload();
    std::filesystem::create_directories(folder_ / "in/exchange");
    std::filesystem::create_directories(folder_ / "out");
  }
  Records collect(std::string_view role, std::string_view exit = "0") {
    Records request = extra_;
    request.add("role", role);
    request.add("result", std::string_view(exit == "0" ? "success" : "exit-code"));
    request.add("exit", exit);
    set_.all().at("instant").protocol.toRecords(request);
    const auto report = collectTurn({folder_ / "in", folder_ / "out", request});
    EXPECT_TRUE(report) << report.error().message;
    return report.value_or(Records());
  }
  void output(const std::string& text) { folder_.write("in/stdout", text); }
  void leave(const std::string& name, const std::string& text) { folder_.write("in/exchange/" + name, text); }

  const ScratchFolder folder_;
  Records extra_;
  agents::DataSet<agents::Descriptor> set_{
      {std::string(SOURCE_TREE) + "/tests/agents"}, ".toml", agents::readDescriptor};
};

const std::string kDone =
    "{\"type\":\"start\",\"session\":\"s\"}\n{\"type\":\"end\",\"text\":\"done\",\"usage\":{\"input\":1000,\"cached\":"
    "100,\"output\":10}}\n";

TEST_F(TurnTest, AWritersTurnHasOutcomeSessionTextAndUsage) {
  output(kDone);
  leave("answer.md", "no, because");
  leave("red.md", "red");
  const auto report = collect("writer");
  EXPECT_EQ(report.get("outcome"), "ok");
  EXPECT_FALSE(report.has("error-class"));
  EXPECT_EQ(report.get("session"), "s");
  EXPECT_EQ(report.get("text"), "done");
  EXPECT_EQ(report.number("usage.input"), 900U);
  EXPECT_EQ(report.number("usage.cached"), 100U);
  EXPECT_EQ(report.number("usage.total-input"), 1000U);
  EXPECT_EQ(report.get("answer"), "no, because");
  EXPECT_EQ(report.get("red"), "red");
  EXPECT_FALSE(report.has("plan.refusal"));
  EXPECT_EQ(folder_.read("out/transcript"), "done\n");
}

TEST_F(TurnTest, ItIsNoSuccessUnlessTheAgentSaysSoAndEndsWell) {
  output("{\"type\":\"start\",\"session\":\"s\"}\n");
  EXPECT_EQ(collect("writer").get("outcome"), "failed");
  output(kDone);
  EXPECT_EQ(collect("writer", "1").get("outcome"), "failed");
  EXPECT_EQ(collect("writer", "0").get("outcome"), "ok");
}

TEST_F(TurnTest, AFailedTurnSaysWhyInTheBestWordsThereAre) {
  folder_.write("in/stderr", "one\nlast words\x1b[0m\n");
  auto report = collect("writer", "1");
  EXPECT_EQ(report.get("error-class"), "other");
  EXPECT_TRUE(report.get("error-text").ends_with("last words<U+001B>[0m"));
  output("{\"type\":\"error\",\"message\":\"slow down\",\"status\":429}\n");
  report = collect("writer", "1");
  EXPECT_EQ(report.get("error-class"), "rate-limit");
  EXPECT_EQ(report.get("error-text"), "slow down");
}

TEST_F(TurnTest, WithoutAnyOutputThereIsStillAReport) {
  const auto report = collect("writer", "9");
  EXPECT_EQ(report.get("outcome"), "failed");
  EXPECT_EQ(report.get("error-text"), "it ended with exit status 9 and said nothing");
  EXPECT_FALSE(report.has("usage.input"));
}

TEST_F(TurnTest, APlanKeepsItsExactBytes) {
  output(kDone);
  const std::string plan = "+++\nkind='bug'\nsummary='Mend it'\n+++\n# Acceptance criteria\n- [ ] It is mended\r\n\n\n";
  leave("plan.md", plan);
  const auto report = collect("planner");
  EXPECT_EQ(report.get("plan"), plan);
  EXPECT_EQ(report.get("plan.summary"), "Mend it");
  EXPECT_EQ(report.get("plan.criterion"), "It is mended");
  EXPECT_FALSE(report.has("plan.refusal"));
}

TEST_F(TurnTest, NoPlanABadPlanAndAQuestionAreToldApart) {
  output(kDone);
  EXPECT_EQ(collect("planner").get("plan.refusal"), "There is no plan in /task/out/plan.md.");
  leave("plan.md", "words");
  EXPECT_TRUE(collect("planner").has("plan"));
  EXPECT_TRUE(collect("planner").has("plan.refusal"));
  leave("question.md", " \n");
  EXPECT_FALSE(collect("planner").has("question"));
  leave("question.md", "Which?\n");
  EXPECT_EQ(collect("planner").get("question"), "Which?\n");
}

TEST_F(TurnTest, AReviewBecomesRecords) {
  output(kDone);
  leave("review.json",
        R"({"checked":["c1","c2"],"findings":[{"severity":"error","path":"a.c","line":3,"title":"t1","text":"x"},
      {"severity":"warning","path":"a.c","title":"t2"}]})");
  auto report = collect("reviewer");
  EXPECT_EQ(report.all("review.checked").size(), 2U);
  ASSERT_EQ(report.all("finding").size(), 2U);
  const auto finding = Records::parse(report.all("finding")[0]);
  const auto warning = Records::parse(report.all("finding")[1]);
  ASSERT_TRUE(finding && warning);
  EXPECT_EQ(finding->number("blocking"), 1U);
  EXPECT_FALSE(warning->has("blocking"));
  EXPECT_EQ(finding->get("path"), "a.c");
  EXPECT_EQ(finding->number("line"), 3U);
  EXPECT_EQ(finding->get("id").size(), 16U);
  leave("review.json", "{}");
  report = collect("reviewer");
  EXPECT_TRUE(report.has("review.refusal"));
  EXPECT_FALSE(report.has("finding"));
}

TEST_F(TurnTest, WhatIsNoPlainFileIsSaid) {
  output(kDone);
  std::filesystem::create_symlink("/etc/passwd", folder_ / "in/exchange/plan.md");
  const auto report = collect("planner");
  EXPECT_FALSE(report.has("plan"));
  EXPECT_EQ(report.get("plan.refusal"), "plan.md is not a plain file with one link");
  EXPECT_TRUE(folder_.read("out/transcript").contains("not taken from /task/out: plan.md is not a plain file"));
}

TEST_F(TurnTest, AQuestionThatCannotBeShownIsAQuestionAllTheSame) {
  output(kDone);
  leave("question.md", std::string(limits::kTextBytes + 1, '?'));
  EXPECT_TRUE(collect("writer").get("question").contains("question.md is longer than 262144 bytes"));
  EXPECT_TRUE(folder_.read("out/transcript").contains("question.md is longer than"));
  std::filesystem::remove(folder_ / "in/exchange/question.md");
  std::filesystem::create_symlink("/etc/passwd", folder_ / "in/exchange/question.md");
  EXPECT_TRUE(collect("planner").get("question").contains("question.md is not a plain file"));
}

TEST_F(TurnTest, AReportFitsIntoItsLimitWhateverTheAgentLeft) {
  output("{\"type\":\"end\",\"text\":\"" + std::string(2 * limits::kTextBytes, 't') + "\"}\n");
  std::string findings;
  for (std::size_t i = 0; i < limits::kFindings; ++i)
    findings +=
        std::string(i > 0 ? "," : "") + R"({"severity":"info","title":"t","text":")" + std::string(1000, 'y') + "\"}";
  leave("review.json", R"({"checked":["x"],"findings":[)" + findings + "]}");
  // As much as may be, and so much that a report with all of it could not be read.
  for (const auto size : {limits::kTextBytes, limits::kReportBytes / 7}) {
    for (const auto* name :
         {"question.md", "plan.md", "answer.md", "criteria.md", "red.md", "verify-proposal.md", "history-request.md"})
      leave(name, std::string(size, 'x'));
    for (const auto* role : {"reviewer", "planner"}) {
      const auto report = Records::parse(collect(role).serialize());
      ASSERT_TRUE(report) << role << ", " << size << ": " << report.error();
      EXPECT_EQ(report->has("answer"), size == limits::kTextBytes);
      for (const auto& record : report->list())
        EXPECT_LE(record.value.size(), limits::kTextBytes) << record.key;
    }
  }
}

TEST_F(TurnTest, ARequestWithoutAProtocolIsAFault) {
  const auto report = collectTurn({folder_ / "in", folder_ / "out", Records()});
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, ErrorCode::Internal);
}

}  // namespace
}  // namespace coffer::collector
