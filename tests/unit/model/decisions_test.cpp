#include "model/limits.hpp"
#include "model/work_digest.hpp"
#include "play.hpp"

namespace coffer::model {
namespace {

TEST(Rounds, GateAndReviewDrawOnOneBudget) {
  Play play;
  play.toGate();
  play.gate(false);
  play.write("t2");
  play.gate(true);
  play.review(1);
  play.write("t3");
  play.gate(false);
  EXPECT_EQ(play.task.round, 3U);
  play.write("t4");
  play.gate(true);
  play.review(1);
  play.diff();
  EXPECT_EQ(play.where(), "ready/none");
  EXPECT_EQ(play.task.problem.code, "blocking-findings");
  play.reply();
  EXPECT_EQ(play.task.round, 0U);
}

TEST(Rounds, StepNamesAreNeverUsedTwiceThoughTheBudgetStartsAgain) {
  Play play;
  play.toGate();
  play.gate(false);
  play.write("t2");
  play.gate(true);
  play.review(0);
  play.diff();
  play.reply();
  play.write("t3");
  play.gate(false, true);
  play.tell(Retried{});
  std::map<std::string, int> names;
  for (const auto& event : play.events)
    if (event.type == "step-opened") {
      EXPECT_EQ(++names[event.text("step")], 1) << event.text("step");
    }
  EXPECT_TRUE(names.contains("coffer-17-0-writer-1"));
  EXPECT_TRUE(names.contains("coffer-17-1-writer-1"));
  EXPECT_TRUE(names.contains("coffer-17-2-gate-2"));
}

TEST(Rounds, AWriterThatDisagreesWithAFindingIsJudgedByAReviewerWithoutAnotherBuild) {
  Play play;
  play.toReview();
  play.review(1);
  play.tell(TurnEnded{.step = play.step(), .answer = sha256("it is right as it is")});
  play.import("t1");
  EXPECT_EQ(play.where(), "reviewing/C2 review");
  EXPECT_EQ(play.task.comments, (std::vector<Comment>{{sha256("it is right as it is"), true}}));
  EXPECT_EQ(play.task.step->candidate, "ct1");
}

TEST(World, AFactToldTwiceCountsOnce) {
  Play play;
  play.toWriting();
  const TurnEnded end{.step = play.step(), .run = 9, .usage = {.input = 100}};
  play.tell(end);
  const auto usage = play.task.usage;
  play.refuse(end, ErrorCode::Stale);
  EXPECT_EQ(play.task.usage, usage);
}

TEST(World, AnInterruptedTurnIsToldAndItsNextAttemptCountsOnce) {
  Play play;
  play.toWriting();
  const std::string first = play.step();
  play.tell(TurnEnded{.step = first, .outcome = TurnOutcome::Interrupted});
  EXPECT_EQ(first, "coffer-17-0-writer-1");
  EXPECT_EQ(play.step(), "coffer-17-0-writer-2");
  EXPECT_EQ(play.task.round, 0U);
  EXPECT_EQ(play.task.step->inputs.at("plan"), sha256("plan"));
}

TEST(World, AStepThatIsInterruptedAgainAndAgainWaitsForAPerson) {
  Play play;
  play.toGate();
  for (std::uint64_t i = 0; i < limits::kInterruptions; ++i)
    play.tell(StepInterrupted{play.step()});
  EXPECT_EQ(play.where(), "verifying/gate");
  play.tell(StepInterrupted{play.step()});
  EXPECT_EQ(play.where(), "verifying/blocked:interrupted/none");
}

TEST(World, PassingTroublesInARowEndWithThePerson) {
  Play play;
  play.toWriting();
  for (std::uint64_t i = 1; i < limits::kTroubles; ++i) {
    play.turn(TurnOutcome::Unreachable, 7);
    EXPECT_EQ(play.task.parked.reason, Parked::Retry);
    EXPECT_EQ(play.task.parked.until, 7U);
    play.tell(Retried{});
  }
  play.turn(TurnOutcome::Unreachable, 7);
  EXPECT_EQ(play.where(), "writing/blocked:provider-unreachable/none");
}

TEST(World, ACutOffTurnStillCountsWhatItUsed) {
  Play play;
  play.toWriting();
  const std::string cut = play.step();
  const auto before = play.task.usage.input;
  play.tell(Cancelled{});
  play.cleanUp();
  play.tell(TurnEnded{.step = cut, .usage = {.input = 100}});
  EXPECT_EQ(play.task.usage.input, before + 100);
  EXPECT_EQ(play.where(), "cancelled/none");
  play.refuse(TurnEnded{.step = cut, .usage = {.input = 100}}, ErrorCode::Stale);
}

TEST(Person, ImpossibleDecisionsAreRefusedWithASentence) {
  Play play;
  play.refuse(PlanAccepted{sha256("plan")}, ErrorCode::WrongState);
  play.refuse(WorkAccepted{.digest = sha256("x")}, ErrorCode::WrongState);
  play.refuse(Replied{sha256("x")}, ErrorCode::WrongState);
  play.refuse(Retried{}, ErrorCode::WrongState);
  play.refuse(Resumed{}, ErrorCode::WrongState);
  play.refuse(Deleted{}, ErrorCode::WrongState);
  play.refuse(Created{}, ErrorCode::WrongState);
  play.toReady();
  play.refuse(Replied{}, ErrorCode::InvalidArgument);
  play.acceptWork();
  play.refuse(Cancelled{}, ErrorCode::Busy);
  play.refuse(Replied{sha256("x")}, ErrorCode::WrongState);
  play.refuse(SnapshotTaken{.step = play.step()}, ErrorCode::WrongState);
  play.land();
  play.refuse(Cancelled{}, ErrorCode::Busy);
  play.cleanUp();
  play.refuse(Replied{sha256("x")}, ErrorCode::WrongState);
}

TEST(Retrying, OnlyFromWhereThereIsSomething) {
  Play play;
  play.toPlanReady();
  play.refuse(Retried{}, ErrorCode::WrongState);
  play.refuse(Retried{RetryPoint::Write}, ErrorCode::WrongState);
  play.acceptPlan();
  play.refuse(Retried{RetryPoint::Write}, ErrorCode::WrongState);  // it goes on
  play.turn(TurnOutcome::Failed);
  play.refuse(Retried{RetryPoint::Gate}, ErrorCode::WrongState);
  play.tell(Retried{});
  play.write("t1");
  play.gate(false, true);
  play.refuse(Retried{RetryPoint::Review}, ErrorCode::WrongState);
  play.tell(Cancelled{});
  play.refuse(Retried{}, ErrorCode::WrongState);  // still being taken away
  play.cleanUp();
  EXPECT_EQ(actions(play.task), (std::vector<std::string>{"retry", "delete"}));
  play.tell(Deleted{});
  play.cleanUp();
  play.refuse(Retried{}, ErrorCode::WrongState);
}

TEST(Retrying, WhatLandedIsOver) {
  Play play;
  play.toReady();
  play.acceptWork();
  play.land();
  play.refuse(Retried{}, ErrorCode::WrongState);
  play.cleanUp();
  play.refuse(Retried{}, ErrorCode::WrongState);
  play.refuse(Retried{RetryPoint::Plan}, ErrorCode::WrongState);
  EXPECT_EQ(actions(play.task), std::vector<std::string>{"delete"});
}

TEST(Retrying, WhoeverGoesOnRemembersNothingOfWhatWasTakenAway) {
  Play play;
  play.toReady();
  const std::string first = play.task.workDigest;
  play.tell(Cancelled{});
  play.cleanUp();
  play.tell(Retried{});
  EXPECT_TRUE(play.task.conversations.empty());
  EXPECT_FALSE(play.task.cleaned);
  play.refuse(WorkAccepted{.digest = first}, ErrorCode::WrongState);
  play.tell(Restored{play.step()});
  play.diff();
  EXPECT_EQ(play.task.workDigest, first) << "the same work, verified and reviewed as it was";
  play.acceptWork();
  play.land();
  play.cleanUp();
  EXPECT_EQ(play.where(), "done/none");
}

TEST(Retrying, APlanThatIsGivenUpIsAcceptedNoMore) {
  Play play;
  play.toReady();
  play.tell(Retried{RetryPoint::Plan});
  EXPECT_TRUE(play.task.planAccepted.empty());
  EXPECT_TRUE(play.task.candidate.empty());
  play.plan("another plan");
  play.refuse(PlanAccepted{sha256("plan")}, ErrorCode::Stale);
  play.acceptPlan();
  play.write("t1");
  EXPECT_EQ(play.where(), "verifying/gate") << "the same tree as before the plan is judged anew";
}

TEST(Retrying, ALargerBudgetComesWithIt) {
  Play play;
  play.toWriting();
  EXPECT_EQ(play.task.budget, 0U);
  const auto turns = play.task.conversations.at("B").turns;
  play.tell(TurnEnded{.step = play.step(), .outcome = TurnOutcome::OverBudget});
  EXPECT_EQ(play.task.conversations.at("B").turns, turns) << "it never began";
  EXPECT_TRUE(needsPerson(play.task));
  play.refuse(Retried{.budget = limits::kBudgetMost + 1}, ErrorCode::Limit);
  play.tell(Retried{.budget = 500});
  EXPECT_EQ(play.task.budget, 500U);
  EXPECT_EQ(play.where(), "writing/B write");
  play.turn(TurnOutcome::OverBudget);
  EXPECT_EQ(play.task.conversations.at("B").turns, turns + 1);
  play.tell(Retried{});
  EXPECT_EQ(play.task.budget, 500U) << "what is not said stays";
}

TEST(Retrying, StepNamesStayUnique) {
  Play play;
  play.toReady();
  for (const auto from : {RetryPoint::Review, RetryPoint::Gate}) {
    play.tell(Retried{from});
    if (from == RetryPoint::Gate) play.gate(true);
    play.review(0);
    play.diff();
  }
  for (int i = 0; i < 2; ++i) {
    play.tell(Cancelled{});
    play.cleanUp();
    play.tell(Retried{});
    play.tell(Restored{play.step()});
    play.diff();
  }
  std::map<std::string, int> names;
  for (const auto& event : play.events)
    if (event.type == "step-opened") {
      EXPECT_EQ(++names[event.text("step")], 1) << event.text("step");
    }
}

TEST(Person, ATaskNeedsWhatItIsMadeOf) {
  const auto made = [](Created fact) { return decide(Task{}, fact, 1); };
  const Created good{.id = 1, .prompt = sha256("p"), .flow = *builtInFlow("single")};
  EXPECT_TRUE(made(good));
  Created bad = good;
  bad.id = 0;
  EXPECT_EQ(made(bad).error().code, ErrorCode::InvalidArgument);
  bad = good;
  bad.flow = {};
  EXPECT_EQ(made(bad).error().code, ErrorCode::InvalidArgument);
  bad = good;
  bad.rounds = limits::kRoundsMost + 1;
  EXPECT_EQ(made(bad).error().code, ErrorCode::Limit);
  EXPECT_EQ(decide(Task{}, Cancelled{}, 1).error().code, ErrorCode::WrongState);
}

TEST(Person, AnOwnPlanNeedsNoPlanner) {
  const Created fact{.id = 1,
                     .prompt = sha256("p"),
                     .flow = *builtInFlow("review"),
                     .plan = {.digest = sha256("mine"), .summary = "Mine"}};
  auto task = after(Task{}, *decide(Task{}, fact, 1));
  task = after(task, *decide(task, SnapshotTaken{.step = task.step->name, .base = "b"}, 2));
  EXPECT_EQ(task.state, State::PlanReady);
  EXPECT_EQ(task.plan, sha256("mine"));
  task = after(task, *decide(task, Replied{sha256("better")}, 3));
  EXPECT_EQ(task.step->conversation, "A") << "a reply still gives it to the planner";
  EXPECT_EQ(task.step->inputs.at("plan"), sha256("mine"));
}

TEST(Person, ALongTitleIsCutBetweenCharacters) {
  Created fact{.id = 1, .prompt = sha256("p"), .flow = *builtInFlow("single")};
  for (int i = 0; i < 150; ++i)
    fact.title += "ä";
  fact.title.insert(0, "x");
  const auto task = after(Task{}, *decide(Task{}, fact, 1));
  EXPECT_EQ(task.title.size(), limits::kTitleBytes - 1);
}

TEST(Inputs, AWriterGetsWhatTheTurnIsAbout) {
  Play play;
  play.toGate();
  play.gate(false);
  EXPECT_EQ(play.task.step->inputs.at("feedback"), sha256("feedback"));
  EXPECT_EQ(play.task.step->inputs.at("plan"), sha256("plan"));
  EXPECT_EQ(play.task.step->inputs.at("prompt"), sha256("prompt"));
  play.write("t2");
  play.gate(true);
  play.review(1);
  EXPECT_EQ(play.task.step->inputs.at("review"), sha256("review"));
  EXPECT_FALSE(play.task.step->inputs.contains("feedback"));
  play.ask();
  play.reply();
  EXPECT_EQ(play.task.comments, (std::vector<Comment>{{sha256("reply"), false}}));
  EXPECT_EQ(play.task.step->inputs.at("question"), sha256("question"));
}

TEST(Inputs, EverythingThatWasSaidIsKeptInItsOrderUntilItsCommitsAreGivenUp) {
  Play play;
  play.toPlanReady();
  play.reply();
  play.plan("another");
  play.acceptPlan();
  play.write("t1");
  play.gate(true);
  play.review(1);
  play.tell(TurnEnded{.step = play.step(), .answer = sha256("no")});
  play.import("t1");
  play.review(0);
  play.diff();
  play.tell(Replied{sha256("and now")});
  const std::vector<Comment> said = {{sha256("reply"), false}, {sha256("no"), true}, {sha256("and now"), false}};
  EXPECT_EQ(play.task.comments, said);
  play.write("t2");
  play.gate(true);
  EXPECT_EQ(play.open(), "C3 review");
  EXPECT_EQ(play.task.comments, said) << "the next reviewer is told all of it";
  play.review(0);
  play.diff();
  play.tell(Retried{.from = RetryPoint::Write});
  EXPECT_EQ(play.task.comments, (std::vector<Comment>{said[0], said[2]}));
}

TEST(World, AQuestionOfATurnThatDidNotEndWellIsAskedAllTheSame) {
  for (const auto outcome : {TurnOutcome::Failed, TurnOutcome::TimedOut, TurnOutcome::Unreachable}) {
    Play play;
    play.toWriting();
    play.tell(
        TurnEnded{.step = play.step(), .run = 9, .outcome = outcome, .words = "why", .question = sha256("which")});
    EXPECT_EQ(play.where(), "writing/question:question/none");
    EXPECT_EQ(play.task.question, sha256("which"));
  }
  Play play;
  play.toWriting();
  play.tell(TurnEnded{.step = play.step(), .outcome = TurnOutcome::Interrupted, .question = sha256("which")});
  EXPECT_EQ(play.open(), "B write") << "what was cut off is done again";
}

TEST(People, WorkThatHasLandedIsBusyUntilItIsTakenAway) {
  Play play;
  play.toReady();
  play.acceptWork();
  play.refuse(Cancelled{}, ErrorCode::Busy);
  play.land();
  play.refuse(Cancelled{}, ErrorCode::Busy);
  play.cleanUp();
  play.refuse(Cancelled{}, ErrorCode::WrongState);
}

TEST(Inputs, ARepliedPlannerSeesThePlanThatWasNotGoodEnough) {
  Play play;
  play.toPlanReady();
  play.reply();
  EXPECT_EQ(play.task.step->inputs.at("plan"), sha256("plan"));
  EXPECT_TRUE(play.task.plan.empty());
}

TEST(Actions, TellWhatTheStateAllows) {
  using Names = std::vector<std::string>;
  Play play;
  EXPECT_EQ(actions(play.task), Names{"cancel"});
  play.toPlanReady();
  EXPECT_EQ(actions(play.task), (Names{"accept-plan", "reply", "cancel"}));
  EXPECT_EQ(pending(play.task)[0].second, sha256("plan"));
  EXPECT_TRUE(needsPerson(play.task));
  EXPECT_EQ(waiting(play.task).code, "plan");
  play.acceptPlan();
  EXPECT_FALSE(needsPerson(play.task));
  EXPECT_EQ(waiting(play.task).code, "");
  play.turn(TurnOutcome::RateLimited, 5);
  EXPECT_EQ(actions(play.task), (Names{"reply", "retry", "cancel"}));
  EXPECT_FALSE(needsPerson(play.task));
  EXPECT_EQ(waiting(play.task).until, 5U);
  play.tell(Retried{});
  play.ask();
  EXPECT_EQ(actions(play.task), (Names{"reply", "cancel"}));
  EXPECT_EQ(pending(play.task)[0].first, "question");
  play.tell(Cancelled{});
  EXPECT_EQ(actions(play.task), Names{});
  play.cleanUp();
  EXPECT_EQ(actions(play.task), (Names{"retry", "delete"}));
}

TEST(WorkDigest, EveryPartOfTheTupleCounts) {
  Task task;
  task.base = "b", task.candidate = "c", task.tree = "t", task.gate.run = 1, task.review.digest = "r";
  const std::string digest = workDigest(task);
  EXPECT_TRUE(isDigest(digest));
  const auto changed = [&](auto change) {
    Task other = task;
    change(other);
    EXPECT_NE(workDigest(other), digest);
  };
  changed([](Task& it) { it.base = "x"; });
  changed([](Task& it) { it.candidate = "x"; });
  changed([](Task& it) { it.tree = "x"; });
  changed([](Task& it) { it.gate.run = 2; });
  changed([](Task& it) { it.review.digest = "x"; });
  changed([](Task& it) { it.review.run = 2; });
  changed([](Task& it) { it.policy.plan = Decides::Auto; });
  changed([](Task& it) { it.policy.command = Decides::Auto; });
  changed([](Task& it) { it.policy.risky = Decides::Auto; });
  changed([](Task& it) { it.policy.landing = Decides::Auto; });
  changed([](Task& it) { it.diff = "x"; });
  changed([](Task& it) { it.base = "bc", it.candidate = ""; });
}

TEST(Digest, IsTheOneEverybodyElseComputes) {
  EXPECT_EQ(sha256(""), "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256("abc"), "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_TRUE(isDigest(sha256("abc")));
  EXPECT_FALSE(isDigest("sha256:xyz"));
  EXPECT_FALSE(isDigest(sha256("abc") + "0"));
}

TEST(Spelling, EveryWordComesBackAsItsValue) {
  for (const auto& [value, word] : Spelling<State>::words)
    EXPECT_EQ(parse<State>(word), value);
  for (const auto& [value, word] : Spelling<Parked>::words)
    EXPECT_EQ(parse<Parked>(word), value);
  for (const auto& [value, word] : Spelling<TurnKind>::words)
    EXPECT_EQ(parse<TurnKind>(word), value);
  EXPECT_EQ(spell(State::PlanReady), "plan-ready");
  EXPECT_FALSE(parse<State>("none"));
}

TEST(Events, OfAnUnknownTypeAreKeptWithoutEffect) {
  Play play;
  Task before = play.task;
  apply(play.task, {.sequence = 99, .at = 5, .type = "from-the-future", .payload = {{"x", 1}}});
  before.sequence = 99;
  before.changed = 5;
  EXPECT_EQ(play.task, before);
}

}  // namespace
}  // namespace coffer::model
