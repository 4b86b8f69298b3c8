#include <functional>

#include "play.hpp"

namespace coffer::model {
namespace {

struct Row {
  const char* name;
  const char* flow;
  std::function<void(Play&)> before;
  std::function<void(Play&)> fact;
  const char* after;  ///< state/parked:code/open step
  std::uint64_t round = 0;
};

class Transition : public ::testing::TestWithParam<Row> {};

TEST_P(Transition, Row) {
  const Row& row = GetParam();
  Play play(row.flow);
  row.before(play);
  row.fact(play);
  EXPECT_EQ(play.where(), row.after);
  EXPECT_EQ(play.task.round, row.round);
}

const auto nothing = [](Play&) {};
const auto toPlanReady = [](Play& play) { play.toPlanReady(); };
const auto toWriting = [](Play& play) { play.toWriting(); };
const auto toGate = [](Play& play) { play.toGate(); };
const auto toReview = [](Play& play) { play.toReview(); };
const auto toReady = [](Play& play) { play.toReady(); };
const auto toLanding = [](Play& play) { play.toReady(), play.acceptWork(); };
const auto toImport = [](Play& play) { play.toWriting(), play.turn(); };
const auto cancel = [](Play& play) { play.tell(Cancelled{}); };
const auto reply = [](Play& play) { play.reply(); };
const auto retry = [](Play& play) { play.tell(Retried{}); };
const auto retryFrom = [](RetryPoint from) { return [from](Play& play) { play.tell(Retried{from}); }; };
const auto cancelled = [](auto before) {
  return [before](Play& play) { before(play), play.tell(Cancelled{}), play.cleanUp(); };
};
const auto restored = [](auto before) {
  return [before](Play& play) { before(play), play.tell(Restored{play.step()}); };
};
const auto failed = [](Play& play) {
  play.tell(StepFailed{play.step(), {ErrorCode::Dirty, "These paths are changed: a.c"}});
};
const auto interrupted = [](Play& play) { play.tell(StepInterrupted{play.step()}); };
const auto noPlan = [](Play& play) { play.tell(TurnEnded{.step = play.step(), .plan = {.refusal = "no header"}}); };
const auto nothingDone = [](Play& play) { play.tell(Imported{.step = play.step(), .nothing = true}); };
const auto exhausted = [](Play& play) {
  play.toGate();
  for (const char* tree : {"t2", "t3", "t4"})
    play.gate(false), play.write(tree);
  play.gate(false);
};

const std::vector<Row> rows{
    {"a created task takes a snapshot", "review", nothing, nothing, "queued/snapshot"},
    {"a snapshot leads to the plan", "review", nothing, [](Play& play) { play.snapshot(); }, "planning/A plan"},
    {"a failed snapshot waits", "review", nothing, failed, "queued/blocked:Dirty/none"},
    {"a failed snapshot can be retried", "review", [](Play& play) { failed(play); }, retry, "queued/snapshot"},
    {"a plan waits for the person", "review", [](Play& play) { play.snapshot(); }, [](Play& play) { play.plan(); },
     "plan-ready/none"},
    {"an unusable plan is repaired", "review", [](Play& play) { play.snapshot(); }, noPlan, "planning/A plan-repair"},
    {"but only once", "review", [](Play& play) { play.snapshot(), noPlan(play); }, noPlan,
     "planning/blocked:no-plan/none"},
    {"a repaired plan waits", "review", [](Play& play) { play.snapshot(), noPlan(play); },
     [](Play& play) { play.plan(); }, "plan-ready/none"},
    {"no plan can be tried again", "review", [](Play& play) { play.snapshot(), noPlan(play), noPlan(play); }, retry,
     "planning/A plan"},
    {"a planner's question comes before its plan", "review", [](Play& play) { play.snapshot(); },
     [](Play& play) { play.ask(); }, "planning/question:question/none"},
    {"its answer goes to the planner", "review", [](Play& play) { play.snapshot(), play.ask(); }, reply,
     "planning/A reply"},
    {"a reply to a plan continues planning", "review", toPlanReady, reply, "planning/A reply"},
    {"an accepted plan is written", "review", toPlanReady, [](Play& play) { play.acceptPlan(); }, "writing/B write"},
    {"a writer's end is imported", "review", toWriting, [](Play& play) { play.turn(); }, "writing/import"},
    {"self-review comes first where the flow has it", "executor", toWriting, [](Play& play) { play.turn(); },
     "writing/B self-review"},
    {"and is not followed by another", "executor", [](Play& play) { play.toWriting(), play.turn(); },
     [](Play& play) { play.turn(); }, "writing/import"},
    {"a question in a self-review stops too", "executor", [](Play& play) { play.toWriting(), play.turn(); },
     [](Play& play) { play.ask(); }, "writing/question:question/none"},
    {"a writer's question comes before everything", "review", toWriting, [](Play& play) { play.ask(); },
     "writing/question:question/none"},
    {"its answer goes to the writer", "review", [](Play& play) { play.toWriting(), play.ask(); }, reply,
     "writing/B reply"},
    {"no change is told once", "review", toImport, nothingDone, "writing/B no-change"},
    {"no change twice waits, without a gate", "review",
     [](Play& play) { toImport(play), nothingDone(play), play.turn(); }, nothingDone, "writing/blocked:no-change/none"},
    {"no change can be tried again", "review",
     [](Play& play) { toImport(play), nothingDone(play), play.turn(), nothingDone(play); }, retry,
     "writing/B no-change"},
    {"a fix that changes nothing is no change", "review",
     [](Play& play) { play.toGate(), play.gate(false), play.turn(); }, [](Play& play) { play.import("t1"); },
     "writing/B no-change", 1},
    {"a reply that changes nothing is verified again", "review",
     [](Play& play) { play.toReady(), play.reply(), play.turn(); }, [](Play& play) { play.import("t1"); },
     "verifying/gate"},
    {"commits that cannot be taken in cost a round", "review", toImport,
     [](Play& play) {
       play.tell(ImportRefused{play.step(), {ErrorCode::InvalidArgument, "A .git in the tree"}, sha256("f")});
     },
     "writing/B fix-gate", 1},
    {"an import that could not run costs nothing", "review", toImport, failed, "writing/blocked:Dirty/none"},
    {"an import leads to the gate", "review", toImport, [](Play& play) { play.import("t1"); }, "verifying/gate"},
    {"a red gate is a fix round", "review", toGate, [](Play& play) { play.gate(false); }, "writing/B fix-gate", 1},
    {"an environment failure costs nothing", "review", toGate, [](Play& play) { play.gate(false, true); },
     "verifying/blocked:environment/none"},
    {"and is verified again on retry", "review", [](Play& play) { play.toGate(), play.gate(false, true); }, retry,
     "verifying/gate"},
    {"another commit than the candidate is verified again", "review", toGate,
     [](Play& play) { play.tell(GateEnded{.step = play.step(), .candidate = "other", .green = true}); },
     "verifying/gate"},
    {"red without rounds left waits", "review", exhausted, nothing, "verifying/blocked:rounds-exhausted/none", 3},
    {"a reply restores the rounds", "review", exhausted, reply, "writing/B reply"},
    {"a retry verifies again and costs nothing", "review", exhausted, retry, "verifying/gate", 3},
    {"a green gate is reviewed", "review", toGate, [](Play& play) { play.gate(true); }, "reviewing/C1 review"},
    {"or shown where nobody reviews", "single", toGate, [](Play& play) { play.gate(true); }, "verifying/diff"},
    {"blocking findings are a fix round", "review", toReview, [](Play& play) { play.review(2); },
     "writing/B fix-review", 1},
    {"a content review is shown", "review", toReview, [](Play& play) { play.review(0); }, "reviewing/diff"},
    {"an unreadable review is repaired in its conversation", "review", toReview, [](Play& play) { play.unreadable(); },
     "reviewing/C1 review-repair"},
    {"but only once, then the person looks", "review", [](Play& play) { play.toReview(), play.unreadable(); },
     [](Play& play) { play.unreadable(); }, "reviewing/diff"},
    {"a reviewer's question waits", "review", toReview, [](Play& play) { play.ask(); },
     "reviewing/question:question/none"},
    {"and its answer goes to that reviewer", "review", [](Play& play) { play.toReview(), play.ask(); }, reply,
     "reviewing/C1 reply"},
    {"a stuck reviewer can be passed over to the writer", "review",
     [](Play& play) { play.toReview(), play.turn(TurnOutcome::Failed); }, reply, "writing/B reply"},
    {"a stuck reviewer is asked again in its conversation", "review",
     [](Play& play) { play.toReview(), play.turn(TurnOutcome::Failed); }, retry, "reviewing/C1 review"},
    {"what is shown waits for the person", "review", [](Play& play) { play.toReview(), play.review(0); },
     [](Play& play) { play.diff(); }, "ready/none"},
    {"another commit than the candidate is never shown", "review", [](Play& play) { play.toReview(), play.review(0); },
     [](Play& play) { play.tell(DiffReady{.step = play.step(), .candidate = "other", .diff = sha256("d")}); },
     "verifying/gate"},
    {"a reply to ready work goes to the writer", "review", toReady, reply, "writing/B reply"},
    {"accepted work lands", "review", toReady, [](Play& play) { play.acceptWork(); }, "landing/land"},
    {"a failed landing gives the work back", "review", toLanding, failed, "ready/blocked:Dirty/none"},
    {"which can be accepted again", "review", [](Play& play) { toLanding(play), failed(play); },
     [](Play& play) { play.acceptWork(); }, "landing/land"},
    {"or replied to", "review", [](Play& play) { toLanding(play), failed(play); }, reply, "writing/B reply"},
    {"a moved branch is verified again, not reviewed again", "review",
     [](Play& play) { toLanding(play), play.tell(CandidateMoved{play.step(), "b1", "c9", "t9"}); },
     [](Play& play) { play.gate(true); }, "verifying/diff"},
    {"landed work is taken away", "review", toLanding, [](Play& play) { play.land(); }, "landed/cleanup"},
    {"and done", "review", [](Play& play) { toLanding(play), play.land(); }, [](Play& play) { play.cleanUp(); },
     "done/none"},
    {"a cleanup that failed is tried again", "review", [](Play& play) { toLanding(play), play.land(); }, failed,
     "landed/cleanup"},
    {"an interrupted turn runs again", "review", toWriting, [](Play& play) { play.turn(TurnOutcome::Interrupted); },
     "writing/B write"},
    {"an interrupted gate runs again", "review", toGate, interrupted, "verifying/gate"},
    {"an interrupted landing runs again", "review", toLanding, interrupted, "landing/land"},
    {"a failed turn waits", "review", toWriting, [](Play& play) { play.turn(TurnOutcome::Failed); },
     "writing/blocked:turn-failed/none"},
    {"a turn that was too long waits", "review", toWriting, [](Play& play) { play.turn(TurnOutcome::TimedOut); },
     "writing/blocked:turn-timeout/none"},
    {"an OOM kill is told as one", "review", toWriting, [](Play& play) { play.turn(TurnOutcome::OomKilled); },
     "writing/blocked:out-of-memory/none"},
    {"a kill is told as one", "review", toWriting, [](Play& play) { play.turn(TurnOutcome::Killed); },
     "writing/blocked:turn-killed/none"},
    {"too much output is told", "review", toWriting, [](Play& play) { play.turn(TurnOutcome::OutputLimit); },
     "writing/blocked:output-limit/none"},
    {"a rate limit waits for its end", "review", toWriting, [](Play& play) { play.turn(TurnOutcome::RateLimited, 5); },
     "writing/quota:rate-limited/none"},
    {"an unreachable provider waits a while", "review", toWriting,
     [](Play& play) { play.turn(TurnOutcome::Unreachable, 5); }, "writing/retry:provider-unreachable/none"},
    {"a refused key pauses the agent", "review", toWriting, [](Play& play) { play.turn(TurnOutcome::AuthFailed); },
     "writing/agent-paused:auth-failed/none"},
    {"a budget that is used up waits for the person", "review", toWriting,
     [](Play& play) { play.turn(TurnOutcome::OverBudget); }, "writing/budget:budget/none"},
    {"what waits for a clock goes on", "review",
     [](Play& play) { play.toWriting(), play.turn(TurnOutcome::RateLimited, 5); }, retry, "writing/B write"},
    {"a pause stops what runs", "review", toWriting, [](Play& play) { play.tell(Paused{}); },
     "writing/paused:paused/none"},
    {"and goes on where it was", "review", [](Play& play) { play.toWriting(), play.tell(Paused{}); },
     [](Play& play) { play.tell(Resumed{}); }, "writing/B write"},
    {"cancel while queued", "review", nothing, cancel, "cancelled/cleanup"},
    {"cancel while planning", "review", [](Play& play) { play.snapshot(); }, cancel, "cancelled/cleanup"},
    {"cancel at the plan", "review", toPlanReady, cancel, "cancelled/cleanup"},
    {"cancel while writing", "review", toWriting, cancel, "cancelled/cleanup"},
    {"cancel while verifying", "review", toGate, cancel, "cancelled/cleanup"},
    {"cancel while reviewing", "review", toReview, cancel, "cancelled/cleanup"},
    {"cancel at the work", "review", toReady, cancel, "cancelled/cleanup"},
    {"cancel when parked", "review", [](Play& play) { play.toWriting(), play.ask(); }, cancel, "cancelled/cleanup"},
    {"cancelled is taken away and stays cancelled", "review", [](Play& play) { cancel(play); },
     [](Play& play) { play.cleanUp(); }, "cancelled/none"},
    {"an ended task can be deleted", "review", [](Play& play) { cancel(play), play.cleanUp(); },
     [](Play& play) { play.tell(Deleted{}); }, "cancelled/erase"},
    {"and is gone", "review", [](Play& play) { cancel(play), play.cleanUp(), play.tell(Deleted{}); },
     [](Play& play) { play.cleanUp(); }, "cancelled/none"},
    {"cancelled before its snapshot, it takes one when retried", "review", cancelled(nothing), retry,
     "queued/snapshot"},
    {"a cancelled task gets its places back", "review", cancelled(toWriting), retry, "queued/restore"},
    {"and is planned when it had no plan", "review", cancelled([](Play& play) { play.snapshot(); }), restored(retry),
     "planning/A plan"},
    {"or shows its plan again", "review", cancelled(toPlanReady), restored(retry), "plan-ready/none"},
    {"or is written", "review", cancelled(toWriting), restored(retry), "writing/B write"},
    {"or verified", "review", cancelled([](Play& play) { play.toGate(), play.gate(false); }), restored(retry),
     "verifying/gate", 1},
    {"or reviewed", "review", cancelled(toReview), restored(retry), "reviewing/C2 review"},
    {"or shown", "review", cancelled(toReady), restored(retry), "reviewing/diff"},
    {"from the plan when that is asked for", "review", cancelled(toReady), restored(retryFrom(RetryPoint::Plan)),
     "planning/A plan"},
    {"from the writing", "review", cancelled(toReady), restored(retryFrom(RetryPoint::Write)), "writing/B write"},
    {"from the gate", "review", cancelled(toReady), restored(retryFrom(RetryPoint::Gate)), "verifying/gate"},
    {"from the review", "review", cancelled(toReady), restored(retryFrom(RetryPoint::Review)), "reviewing/C2 review"},
    {"places that cannot be made wait", "review", cancelled(toReady), [](Play& play) { retry(play), failed(play); },
     "queued/blocked:Dirty/none"},
    {"and can be retried again", "review", [](Play& play) { cancelled(toReady)(play), retry(play), failed(play); },
     retry, "queued/restore"},
    {"a failed task can be retried", "review",
     [](Play& play) { play.toGate(), play.tell(GivenUp{{ErrorCode::NoRepository, "gone"}}), play.cleanUp(); },
     restored(retry), "verifying/gate"},
    {"ready work is verified again when that is asked for", "review", toReady, retryFrom(RetryPoint::Gate),
     "verifying/gate"},
    {"ready work is reviewed again", "review", toReady, retryFrom(RetryPoint::Review), "reviewing/C2 review"},
    {"what is parked can go back to its plan", "review",
     [](Play& play) { play.toWriting(), play.turn(TurnOutcome::Failed); }, retryFrom(RetryPoint::Plan),
     "planning/A plan"},
    {"or to the writing, with all its rounds", "review", exhausted, retryFrom(RetryPoint::Write), "writing/B write"},
    {"a plan that waits can be drafted anew", "review", toPlanReady, retryFrom(RetryPoint::Plan), "planning/A plan"},
    {"a task nothing can be done for has failed", "review", toWriting,
     [](Play& play) { play.tell(GivenUp{{ErrorCode::NoRepository, "The project is gone"}}); }, "failed/cleanup"},
};

INSTANTIATE_TEST_SUITE_P(Table, Transition, ::testing::ValuesIn(rows), [](const auto& row) {
  std::string name = row.param.name;
  for (char& letter : name)
    if (std::isalnum(static_cast<unsigned char>(letter)) == 0) letter = '_';
  return name;
});

}  // namespace
}  // namespace coffer::model
