#include "agents/prompt.hpp"

#include <gtest/gtest.h>

#include "agents/toml_document.hpp"
#include "model/limits.hpp"
#include "model/spelling.hpp"

namespace coffer::agents {
namespace {

class PromptTest : public testing::Test {
 protected:
  void SetUp() override { texts_.reload(); }
  static TurnBrief brief(model::Role role, model::TurnKind kind) {
    TurnBrief brief;
    brief.task = 17;
    brief.title = "A title";
    brief.role = role;
    brief.kind = kind;
    brief.round = 2;
    brief.base = "c0ffee";
    brief.branch = "main";
    brief.commands = {"make", "make test"};
    brief.request = "the request";
    brief.plan = "the plan";
    brief.problem = "the problem";
    brief.feedback = "the feedback";
    brief.review = "the review";
    brief.comments = "the comments";
    return brief;
  }
  std::string render(const TurnBrief& brief) {
    const auto text = renderPrompt(texts_, brief);
    EXPECT_TRUE(text) << text.error();
    return text.value_or("");
  }

  DataSet<PromptText> texts_{{std::string(SOURCE_TREE) + "/daemon/data/prompts"}, ".md", PromptText::read};
};

using model::Role;
using model::TurnKind;

TEST_F(PromptTest, EveryTurnOfEveryRoleHasAText) {
  EXPECT_TRUE(texts_.problems().empty());
  const std::vector<std::pair<Role, TurnKind>> turns = {
      {Role::Planner, TurnKind::Plan},     {Role::Planner, TurnKind::PlanRepair},    {Role::Planner, TurnKind::Reply},
      {Role::Writer, TurnKind::Write},     {Role::Writer, TurnKind::NoChange},       {Role::Writer, TurnKind::FixGate},
      {Role::Writer, TurnKind::FixReview}, {Role::Writer, TurnKind::SelfReview},     {Role::Writer, TurnKind::Reply},
      {Role::Reviewer, TurnKind::Review},  {Role::Reviewer, TurnKind::ReviewRepair}, {Role::Reviewer, TurnKind::Reply}};
  for (const auto& [role, kind] : turns) {
    const auto text = render(brief(role, kind));
    EXPECT_TRUE(text.contains("End the turn when")) << promptName(role, kind);
    EXPECT_FALSE(text.contains("(none)")) << promptName(role, kind);
  }
}

TEST_F(PromptTest, BeginsWithThreeLinesForPrograms) {
  EXPECT_TRUE(render(brief(Role::Writer, TurnKind::FixGate)).starts_with("Role: writer\nTurn: fix-gate\nRound: 2\n\n"));
  EXPECT_TRUE(
      render(brief(Role::Planner, TurnKind::PlanRepair)).starts_with("Role: planner\nTurn: repair\nRound: 2\n\n"));
}

TEST_F(PromptTest, TellsTheRulesOnceAConversation) {
  auto first = brief(Role::Writer, TurnKind::Write);
  first.newConversation = true;
  EXPECT_TRUE(render(first).contains("/task/out/question.md`, with what you tried"));
  EXPECT_TRUE(render(first).contains("    make\n    make test\n"));
  EXPECT_FALSE(render(brief(Role::Writer, TurnKind::FixGate)).contains("sealed sandbox"));
}

TEST_F(PromptTest, WhatIsAskedForIsInTheText) {
  EXPECT_TRUE(render(brief(Role::Planner, TurnKind::Plan)).contains("-----\nthe request\n-----"));
  EXPECT_TRUE(render(brief(Role::Writer, TurnKind::Write)).contains("the plan"));
  EXPECT_TRUE(render(brief(Role::Writer, TurnKind::FixGate)).contains("the feedback"));
  EXPECT_TRUE(render(brief(Role::Writer, TurnKind::FixReview)).contains("the review"));
  EXPECT_TRUE(render(brief(Role::Writer, TurnKind::Reply)).contains("the comments"));
  EXPECT_TRUE(render(brief(Role::Planner, TurnKind::PlanRepair)).contains("the problem"));
  EXPECT_TRUE(render(brief(Role::Reviewer, TurnKind::Review)).contains("git diff c0ffee..HEAD"));
}

TEST_F(PromptTest, TextsOfOthersAreCopiedAndNeverRead) {
  auto turn = brief(Role::Planner, TurnKind::Plan);
  turn.request = "use {plan} and {nonsense}\n\n";
  EXPECT_TRUE(render(turn).contains("-----\nuse {plan} and {nonsense}\n-----"));
}

TEST_F(PromptTest, ALongTextIsCutBetweenCharactersAndSaysSo) {
  auto turn = brief(Role::Writer, TurnKind::FixGate);
  turn.feedback = "x";
  while (turn.feedback.size() <= limits::kTextBytes)
    turn.feedback += "\u00e9";
  const auto text = render(turn);
  EXPECT_TRUE(text.contains("\u00e9\n(cut here: " + std::to_string(turn.feedback.size()) + " bytes in all)"));
}

TEST(Comments, AreToldWithWhoSaidThemTheNewestLast) {
  EXPECT_EQ(commentsText({}), "");
  EXPECT_EQ(commentsText({{false, "Say it in C."}, {true, "It is right as it is.\n"}, {false, "Then leave it."}}),
            "## The person said\n\nSay it in C.\n\n## The writer answered\n\nIt is right as it is.\n\n"
            "## The person said\n\nThen leave it.\n");
}

TEST(Comments, LoseTheOldestWhenTheyAreTooLongAndSaySo) {
  const std::string half(limits::kCommentsBytes / 2 - 30, 'x');
  const auto text = commentsText({{false, "oldest"}, {true, half + "1"}, {false, half + "2"}});
  EXPECT_TRUE(text.starts_with("(1 older left out, being too long)\n\n## The writer answered\n\nxxx"))
      << text.substr(0, 80);
  EXPECT_TRUE(text.ends_with("x2\n"));
  EXPECT_LE(text.size(), limits::kCommentsBytes + 50);
  const std::string longest(limits::kTextBytes, 'y');
  EXPECT_TRUE(commentsText({{false, "old"}, {false, longest}}).ends_with(longest + "\n"));
}

TEST_F(PromptTest, AnUnknownPlaceholderIsABadFile) {
  EXPECT_EQ(PromptText::read("one\ntwo {what}\n", "x", "x.md").error(), "x.md:2: unknown placeholder {what}");
}

TEST_F(PromptTest, AMissingTextIsSaid) {
  const auto text = renderPrompt(texts_, brief(Role::Planner, TurnKind::FixGate));
  ASSERT_FALSE(text);
  EXPECT_TRUE(text.error().contains("planner-fix-gate.md"));
}

TEST_F(PromptTest, RulesAndTurnTogetherStayShort) {
  for (const auto& [name, text] : texts_.all())
    EXPECT_LT(text.text.size(), 4000U) << name;
}

TEST(TurnToml, IsReadBackWhateverTheTextsHold) {
  TurnBrief brief;
  brief.task = 17;
  brief.title = "quote \" back \\ line\nbreak \x01 \u00e9";
  brief.branch = "fix/it";
  brief.commands = {"sh -c \"true\"", "make"};
  brief.deadline = 1'800'000'000'000'000;
  const auto document = parseToml(turnToml(brief), "turn.toml");
  ASSERT_TRUE(document) << document.error();
  EXPECT_EQ(document->find("title")->text, brief.title);
  EXPECT_EQ(document->find("task")->integer, 17);
  EXPECT_EQ(document->find("turn")->text, "write");
  EXPECT_EQ(document->find("commands")->items.at(0).text, brief.commands[0]);
  EXPECT_EQ(document->find("deadline")->kind, TomlNode::Kind::Other);
}

TEST(TurnFiles, LeaveOutWhatIsEmpty) {
  TurnBrief brief;
  brief.plan = "p";
  const auto files = turnFiles(brief);
  ASSERT_EQ(files.size(), 2U);
  EXPECT_EQ(files[0].first, "turn.toml");
  EXPECT_EQ(files[1], (std::pair<std::string, std::string>{"plan.md", "p"}));
}

}  // namespace
}  // namespace coffer::agents
