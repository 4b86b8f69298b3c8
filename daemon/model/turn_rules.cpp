#include <utility>

#include "model/limits.hpp"
#include "model/rules.hpp"
#include "model/ruling.hpp"

namespace coffer::model {

namespace {

Payload endOf(const TurnEnded& fact, const Step& step) {
  Payload payload{{"step", fact.step},
                  {"run", static_cast<std::int64_t>(fact.run)},
                  {"role", std::string(spell(step.role))},
                  {"turn", std::string(spell(step.turn))},
                  {"conversation", step.conversation},
                  {"outcome", std::string(spell(fact.outcome))},
                  {"usage.input", fact.usage.input},
                  {"usage.cached", fact.usage.cached},
                  {"usage.output", fact.usage.output},
                  {"usage.reasoning", fact.usage.reasoning},
                  {"usage.requests", fact.usage.requests},
                  {"usage.cost", fact.usage.costMicro},
                  {"usage.wall", fact.usage.wallMicros}};
  if (!fact.words.empty()) payload["words"] = shortened(fact.words);
  if (!fact.provider.empty()) payload["provider"] = fact.provider;
  if (!fact.session.empty()) payload["session"] = fact.session;
  if (!fact.notice.empty()) payload["notice"] = shortened(fact.notice);
  if (step.role == Role::Writer && !fact.answer.empty()) payload["answer"] = fact.answer;
  return payload;
}

/// A clause as a sentence of its own.
std::string sentence(const std::string& clause) {
  return clause.empty() || std::string_view(".!?").contains(clause.back()) ? clause + " " : clause + ". ";
}

void parkTrouble(Ruling& ruling, const TurnEnded& fact, const Step& step) {
  const Task& task = ruling.task();
  const std::string who = "The " + std::string(spell(step.role)) + "'s turn ";
  const std::string why = sentence(fact.words.empty() ? "" : ": " + fact.words);
  const std::string retry = "coffer retry " + std::to_string(task.id);
  switch (fact.outcome) {
    case TurnOutcome::RateLimited:
      ruling.park(Parked::Quota, "rate-limited",
                  who + "met its provider's limit" + why +
                      (fact.until != 0 ? "It goes on by itself when that is over; at once with " + retry + "."
                                       : "When that is over: " + retry + "."),
                  fact.until);
      break;
    case TurnOutcome::Unreachable:
      if (task.troubles >= limits::kTroubles)
        ruling.park(Parked::Blocked, "provider-unreachable",
                    who + "got no answer, " + std::to_string(task.troubles) + " times in a row" + why +
                        "Look at coffer provider list; when it serves again: " + retry + ".");
      else
        ruling.park(Parked::Retry, "provider-unreachable",
                    who + "got no answer" + why + "When it serves again: " + retry + ".", fact.until);
      break;
    case TurnOutcome::AuthFailed:
      ruling.park(Parked::AgentPaused, "auth-failed",
                  who + "was refused" + why + "Give it one that works: coffer provider key " +
                      (fact.provider.empty() ? "NAME" : fact.provider) + "; then " + retry + ".");
      break;
    case TurnOutcome::OverBudget:
      ruling.park(Parked::Budget, "budget",
                  "The task's budget of " + std::to_string(task.budget) + " tokens is used up: " +
                      std::to_string(task.usage.tokens()) + " were spent. Retry with a larger one, or cancel.");
      break;
    case TurnOutcome::TimedOut:
      ruling.park(Parked::Blocked, "turn-timeout",
                  who + "took longer than it may" + why + "To give it that time again: " + retry +
                      "; an administrator changes it with turn-minutes in cofferd.toml.");
      break;
    case TurnOutcome::OomKilled:
      ruling.park(Parked::Blocked, "out-of-memory",
                  who + "needed more memory than the task has" + why + "To try again: " + retry +
                      "; an administrator changes it with box-memory-mib in cofferd.toml.");
      break;
    case TurnOutcome::OutputLimit:
      ruling.park(Parked::Blocked, "output-limit",
                  who + "printed more than is kept" + why + "What there is of it: coffer log " +
                      std::to_string(task.id) + ". To try again: " + retry + ".");
      break;
    case TurnOutcome::DiskFull:
      ruling.park(Parked::Blocked, "disk-full",
                  who + "filled the task's disk" + why + "Tell it what to remove: coffer reply " +
                      std::to_string(task.id) +
                      " \"...\". An administrator changes the size of new tasks' disks with " +
                      "task-image-mib in cofferd.toml.");
      break;
    case TurnOutcome::Killed:
      ruling.park(Parked::Blocked, "turn-killed", who + "was killed" + why + "To try again: " + retry + ".");
      break;
    default:
      ruling.park(Parked::Blocked, "turn-failed",
                  who + "failed" + why + "Its output: coffer log " + std::to_string(task.id) +
                      ". When it is mended: " + retry + ".");
  }
}

void planEnded(Ruling& ruling, const TurnEnded& fact) {
  const Task& task = ruling.task();
  const std::string refusal =
      fact.plan.digest.empty() && fact.plan.refusal.empty() ? "There is no plan." : fact.plan.refusal;
  if (!refusal.empty()) {
    const bool repaired = task.repaired;
    ruling.tell("plan-refused", {{"digest", fact.plan.digest}, {"reason", shortened(refusal)}});
    if (repaired)
      ruling.park(Parked::Blocked, "no-plan",
                  "The planner left no plan that can be used: " + refusal + " Reply with what is missing, or retry.");
    else
      ruling.openTurn(Role::Planner, TurnKind::PlanRepair, {{"plan", fact.plan.digest}, {"problem", fact.problem}});
    return;
  }
  ruling.planReady(fact.plan.digest, fact.plan.summary);
}

void writingEnded(Ruling& ruling, const Step& step) {
  if (ruling.task().flow.selfReview && step.turn != TurnKind::SelfReview)
    ruling.openTurn(Role::Writer, TurnKind::SelfReview);
  else
    ruling.openImport();
}

void reviewEnded(Ruling& ruling, const TurnEnded& fact, const Step& step) {
  const Task& task = ruling.task();
  if (step.candidate != task.candidate) {
    ruling.tell("verify-again",
                {{"words", "What was reviewed is not the candidate any more, so it is verified again."}});
    ruling.openGate();
    return;
  }
  const std::string refusal =
      fact.review.digest.empty() && fact.review.refusal.empty() ? "There is no review." : fact.review.refusal;
  if (!refusal.empty() && !task.repaired) {
    ruling.tell("review-refused", {{"reason", shortened(refusal)}});
    ruling.openTurn(Role::Reviewer, TurnKind::ReviewRepair, {{"problem", fact.problem}});
    return;
  }
  Payload payload{{"run", static_cast<std::int64_t>(fact.run)},
                  {"number", static_cast<std::int64_t>(task.reviews)},
                  {"candidate", step.candidate},
                  {"digest", fact.review.digest}};
  if (refusal.empty()) {
    payload["blocking"] = fact.review.blocking;
    payload["findings"] = fact.review.findings;
  } else {
    payload["unreadable"] = 1;
    payload["reason"] = shortened(refusal);
  }
  ruling.tell("review-ended", std::move(payload));
  const bool blocking = refusal.empty() && fact.review.blocking > 0;
  if (blocking && ruling.startRound(TurnKind::FixReview, std::to_string(fact.review.blocking) + " blocking",
                                    {{"review", fact.review.digest}}))
    return;
  ruling.openDiff();
}

}  // namespace

Answer onTurnEnded(const Task& task, const TurnEnded& fact, std::uint64_t at) {
  // The end of a turn that a decision cut off: nothing follows from it but what it used.
  if (task.stopping && task.stopping->name == fact.step) {
    Ruling ruling(task, at);
    ruling.tell("turn-ended", endOf(fact, *task.stopping));
    return std::move(ruling).take();
  }
  if (auto error = notOpen(task, fact.step, StepKind::Turn)) return std::unexpected(*std::move(error));
  const Step step = *task.step;
  Ruling ruling(task, at);
  ruling.tell("turn-ended", endOf(fact, step));
  if (fact.outcome == TurnOutcome::Interrupted) {
    ruling.runAgain("turn-ended",
                    "The system does not know the run of " + fact.step + " any more (a reboot or a crash).");
  } else if (!fact.question.empty()) {
    // Also of a turn that did not end well: who asked and then failed still waits for the answer.
    ruling.askQuestion(fact.question, step.role);
  } else if (fact.outcome != TurnOutcome::Ok) {
    parkTrouble(ruling, fact, step);
  } else {
    switch (step.role) {
      case Role::Planner:
        planEnded(ruling, fact);
        break;
      case Role::Writer:
        writingEnded(ruling, step);
        break;
      case Role::Reviewer:
        reviewEnded(ruling, fact, step);
        break;
    }
  }
  return std::move(ruling).take();
}

}  // namespace coffer::model
