#include "play.hpp"

namespace coffer::model {
namespace {

std::vector<std::string> turnsOf(const Play& play) {
  std::vector<std::string> turns;
  for (const auto& event : play.events)
    if (event.type == "step-opened" && event.text("kind") == "turn")
      turns.push_back(event.text("conversation") + " " + event.text("turn"));
  return turns;
}

void landed(Play& play) {
  EXPECT_EQ(play.where(), "ready/none");
  play.acceptWork();
  EXPECT_EQ(play.where(), "landing/land");
  play.land();
  EXPECT_EQ(play.where(), "landed/cleanup");
  play.cleanUp();
  EXPECT_EQ(play.where(), "done/none");
  EXPECT_TRUE(play.task.cleaned);
  ASSERT_EQ(play.task.landed.size(), 1U);
  EXPECT_EQ(play.task.landed[0].commit, play.task.candidate);
}

TEST(Flow, ReviewKeepsTheWriterAndBringsANewReviewerEveryRound) {
  Play play("review");
  play.toWriting();
  play.write("t1");
  play.gate(false);
  EXPECT_EQ(play.task.round, 1U);
  play.write("t2");
  play.gate(true);
  play.review(1);
  EXPECT_EQ(play.task.round, 2U);
  play.write("t3");
  play.gate(true);
  play.review(0);
  play.diff();
  EXPECT_EQ(turnsOf(play),
            (std::vector<std::string>{"A plan", "B write", "B fix-gate", "C1 review", "B fix-review", "C2 review"}));
  EXPECT_EQ(play.task.conversations.at("B").turns, 3U);
  EXPECT_EQ(play.task.conversations.at("B").session, "s-writer");
  EXPECT_EQ(play.task.conversations.at("C2").turns, 1U);
  landed(play);
}

TEST(Flow, SupervisorReviewsInThePlannersConversation) {
  Play play("supervisor");
  play.toWriting();
  play.write("t1");
  play.gate(false);
  play.write("t2");
  play.gate(true);
  play.review(1);
  play.write("t3");
  play.gate(true);
  play.review(0);
  play.diff();
  EXPECT_EQ(turnsOf(play),
            (std::vector<std::string>{"A plan", "B write", "B fix-gate", "A review", "B fix-review", "A review"}));
  EXPECT_EQ(play.task.conversations.at("A").turns, 3U);
  EXPECT_EQ(play.task.conversations.size(), 2U);
  landed(play);
}

TEST(Flow, SingleDoesAllInOneConversationAndReviewsItselfAfterEveryWriterTurn) {
  Play play("single");
  play.toWriting();
  play.write("t1");
  play.gate(false);
  play.write("t2");
  play.gate(true);
  play.diff();
  EXPECT_EQ(turnsOf(play),
            (std::vector<std::string>{"A plan", "A write", "A self-review", "A fix-gate", "A self-review"}));
  EXPECT_EQ(play.task.conversations.size(), 1U);
  EXPECT_EQ(play.task.review.run, 0U) << "a self-review is no judgement";
  landed(play);
}

TEST(Flow, ExecutorHasAPlannerAndAWriterThatReviewsItself) {
  Play play("executor");
  play.toWriting();
  play.write("t1");
  play.gate(false);
  play.write("t2");
  play.gate(true);
  play.diff();
  EXPECT_EQ(turnsOf(play),
            (std::vector<std::string>{"A plan", "B write", "B self-review", "B fix-gate", "B self-review"}));
  landed(play);
}

TEST(Flow, AllAutoNeedsNobody) {
  Play play("review", {.plan = Decides::Auto, .landing = Decides::Auto});
  play.snapshot();
  play.plan();
  EXPECT_EQ(play.where(), "writing/B write");
  play.write("t1");
  play.gate(true);
  play.review(0);
  play.diff();
  EXPECT_EQ(play.where(), "landing/land");
  EXPECT_EQ(play.task.step->branch, "");
  play.land();
  play.cleanUp();
  EXPECT_EQ(play.where(), "done/none");
}

TEST(Flow, LandingOntoABranchOfItsOwnByPolicy) {
  Play play("single", {.landing = Decides::Branch});
  play.toReady();
  EXPECT_EQ(play.where(), "landing/land");
  EXPECT_EQ(play.task.step->branch, "refs/heads/coffer/17");
}

TEST(Flow, ConversationsRunOnTheAgentOfTheirFirstRole) {
  EXPECT_EQ(bindingRole(*builtInFlow("single"), Role::Writer), Role::Planner);
  EXPECT_EQ(bindingRole(*builtInFlow("executor"), Role::Writer), Role::Writer);
  EXPECT_EQ(bindingRole(*builtInFlow("supervisor"), Role::Reviewer), Role::Planner);
  EXPECT_EQ(bindingRole(*builtInFlow("review"), Role::Reviewer), Role::Reviewer);
  EXPECT_EQ(builtInFlow("none"), nullptr);
}

}  // namespace
}  // namespace coffer::model
