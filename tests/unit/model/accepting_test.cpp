#include "model/limits.hpp"
#include "model/work_digest.hpp"
#include "play.hpp"

namespace coffer::model {
namespace {

TEST(Accepting, APlanIsAcceptedOnlyByTheDigestThatWasShown) {
  Play play;
  play.toPlanReady();
  play.refuse(PlanAccepted{sha256("another")}, ErrorCode::Stale);
  play.reply();
  play.refuse(PlanAccepted{sha256("plan")}, ErrorCode::WrongState);
  play.plan("second plan");
  play.refuse(PlanAccepted{sha256("plan")}, ErrorCode::Stale);
  play.tell(PlanAccepted{sha256("second plan")});
  EXPECT_EQ(play.where(), "writing/B write");
}

TEST(Accepting, TwiceWithTheSameDigestGivesTheFirstResultAgain) {
  Play play;
  play.toWriting();
  const auto again = play.tell(PlanAccepted{play.task.planAccepted});
  EXPECT_TRUE(again.already);
  EXPECT_TRUE(again.events.empty());
  EXPECT_FALSE(again.step);
  play.refuse(PlanAccepted{sha256("another")}, ErrorCode::Stale);

  play.write("t1");
  play.gate(true);
  play.review(0);
  play.diff();
  const std::string digest = play.task.workDigest;
  EXPECT_EQ(play.tell(WorkAccepted{.digest = digest}).answer, "ct1");
  EXPECT_TRUE(play.tell(WorkAccepted{.digest = digest}).already);
  play.land();
  play.cleanUp();
  const auto last = play.tell(WorkAccepted{.digest = digest});
  EXPECT_TRUE(last.already);
  EXPECT_EQ(last.answer, "ct1");
  play.refuse(WorkAccepted{.digest = sha256("another")}, ErrorCode::Stale);
}

TEST(Accepting, ForOnePlaceIsNoAnswerToWhoWantsItInAnother) {
  Play play;
  play.toReady();
  const std::string digest = play.task.workDigest;
  play.tell(WorkAccepted{.digest = digest, .branch = "refs/heads/beside"});
  EXPECT_TRUE(play.tell(WorkAccepted{.digest = digest, .branch = "refs/heads/beside"}).already);
  play.refuse(WorkAccepted{.digest = digest}, ErrorCode::AlreadyDecided);
  play.refuse(WorkAccepted{.digest = digest, .branch = "refs/heads/another"}, ErrorCode::AlreadyDecided);
}

TEST(Accepting, WorkIsAcceptedOnlyByTheDigestThatWasShown) {
  Play play;
  play.toReady();
  const std::string first = play.task.workDigest;
  play.refuse(WorkAccepted{.digest = sha256("another")}, ErrorCode::Stale);
  play.reply();
  play.refuse(WorkAccepted{.digest = first}, ErrorCode::WrongState);
  play.write("t2");
  play.gate(true);
  play.review(0);
  play.diff();
  EXPECT_NE(play.task.workDigest, first);
  play.refuse(WorkAccepted{.digest = first}, ErrorCode::Stale);
}

TEST(Accepting, AMovedBranchNeedsTheWordAgain) {
  Play play;
  play.toReady();
  const std::string first = play.task.workDigest;
  play.acceptWork();
  play.tell(CandidateMoved{play.step(), "b1", "c9", "t9"});
  play.gate(true);
  play.diff();
  EXPECT_EQ(play.where(), "ready/none");
  play.refuse(WorkAccepted{.digest = first}, ErrorCode::Stale);
  EXPECT_EQ(play.task.round, 0U);
  EXPECT_EQ(play.task.review.digest, sha256("review"));
}

TEST(Accepting, APolicyGoesOnByItselfWhenTheBranchMovedButNotForEver) {
  Play play("review", {.landing = Decides::Auto});
  play.toReady();
  for (std::uint64_t move = 1; move <= limits::kInterruptions; ++move) {
    EXPECT_EQ(play.where(), "landing/land");
    play.tell(CandidateMoved{play.step(), "b" + std::to_string(move), "c" + std::to_string(move), "t9"});
    play.gate(true);
    play.diff();
  }
  EXPECT_EQ(play.where(), "landing/land");
  play.tell(CandidateMoved{play.step(), "b99", "c99", "t9"});
  EXPECT_EQ(play.where(), "ready/blocked:branch-moves/none");
  EXPECT_EQ(play.task.candidate, "c" + std::to_string(limits::kInterruptions)) << "what was verified stays";
  play.acceptWork();
  play.tell(CandidateMoved{play.step(), "b100", "c100", "t9"});
  EXPECT_EQ(play.where(), "verifying/gate") << "a person's word begins a new count";
}

TEST(Accepting, WorkThatWasMovedSaysSoUntilTheWriterChangesIt) {
  Play play;
  play.toReady();
  EXPECT_EQ(play.task.problem.code, "");
  play.acceptWork();
  play.tell(CandidateMoved{play.step(), "b1", "c9", "t9"});
  play.gate(true);
  play.diff();
  EXPECT_EQ(play.task.problem.code, "branch-moved");
  EXPECT_EQ(play.task.base, "b1");
  EXPECT_EQ(play.task.start(), "b0") << "the writer's clone is what it was";
  play.reply();
  play.write("t3");
  EXPECT_EQ(play.task.base, "b1") << "what comes next is made on the newest";
  play.gate(true);
  play.review(0);
  play.diff();
  EXPECT_EQ(play.task.problem.code, "");
}

TEST(Accepting, AConflictGoesToTheWriterWithTheReply) {
  Play play;
  play.toReady();
  play.acceptWork();
  play.tell(StepFailed{play.step(), {ErrorCode::Stale, "a.c conflicts"}, "b1", sha256("merge b1")});
  EXPECT_EQ(play.where(), "ready/blocked:conflict/none");
  EXPECT_EQ(play.task.base, "b0") << "the candidate is where it was";
  EXPECT_EQ(play.task.bases.back(), "b1");
  play.reply();
  ASSERT_EQ(play.open(), "B reply");
  EXPECT_EQ(play.task.step->inputs["feedback"], sha256("merge b1"));
  play.write("t1");
  EXPECT_EQ(play.where(), "verifying/gate") << "the same tree on another base is other work";
  EXPECT_EQ(play.task.base, "b1");
  EXPECT_EQ(play.task.conflict, "");
}

TEST(Accepting, WhatLandedIsWhatWasAccepted) {
  Play play;
  play.toReady();
  play.acceptWork();
  play.refuse(coffer::model::Landed{.step = play.step(), .commit = "other"}, ErrorCode::Internal);
}

TEST(Accepting, PolicyNeverAcceptsOverAReviewerThatObjects) {
  Play play("review", {.landing = Decides::Auto}, 0);
  play.toReview();
  play.review(1);
  play.diff();
  EXPECT_EQ(play.where(), "ready/none");
  EXPECT_EQ(play.task.problem.code, "blocking-findings");

  Play other("review", {.landing = Decides::Auto});
  other.toReview();
  other.unreadable();
  other.unreadable();
  other.diff();
  EXPECT_EQ(other.where(), "ready/none");
  EXPECT_EQ(other.task.problem.code, "review-unreadable");
}

void riskyDiff(Play& play) {
  play.tell(DiffReady{.step = play.step(),
                      .candidate = play.task.candidate,
                      .diff = sha256("diff"),
                      .risky = 2,
                      .riskyPaths = "Makefile\n.github/ci.yml\n"});
}

TEST(Accepting, PolicyNeverAcceptsWhatIsRiskyUnlessThatIsItsOwnToo) {
  Play play("review", {.landing = Decides::Auto});
  play.toReview();
  play.review(0);
  riskyDiff(play);
  EXPECT_EQ(play.where(), "ready/risky:risky/none");
  EXPECT_NE(waiting(play.task).words.find("Makefile, .github/ci.yml."), std::string::npos) << waiting(play.task).words;
  EXPECT_TRUE(needsPerson(play.task));
  EXPECT_EQ(actions(play.task), (std::vector<std::string>{"accept-work", "reply", "cancel"}));
  play.acceptWork();
  EXPECT_EQ(play.where(), "landing/land");

  Play bold("review", {.risky = Decides::Auto, .landing = Decides::Auto});
  bold.toReview();
  bold.review(0);
  riskyDiff(bold);
  EXPECT_EQ(bold.where(), "landing/land");

  Play asked;
  asked.toReview();
  asked.review(0);
  riskyDiff(asked);
  EXPECT_EQ(asked.where(), "ready/none") << "a person looks anyway";
  EXPECT_EQ(asked.task.problem.code, "risky");
}

}  // namespace
}  // namespace coffer::model
