#include "model/limits.hpp"
#include "model/rules.hpp"
#include "model/ruling.hpp"
#include "model/spelling.hpp"
#include "model/visible_text.hpp"

namespace coffer::model {

namespace {

std::unexpected<Error> refuse(ErrorCode code, std::string words) {
  return std::unexpected(Error{code, std::move(words)});
}

constexpr auto kBudgetTooLarge = "A budget that large is none. Give a smaller one, or none.";

Decision already(std::string answer = {}) {
  Decision decision;
  decision.already = true;
  decision.answer = std::move(answer);
  return decision;
}

std::string landedOrCandidate(const Task& task) {
  return task.landed.empty() ? task.candidate : task.landed.back().commit;
}

/// Whom a reply goes to: whoever's conversation it continues.
Role addressee(const Task& task) {
  if (task.state == State::Planning || task.state == State::PlanReady) return Role::Planner;
  if (task.state == State::Reviewing && task.parked.reason == Parked::Question && task.questionBy == Role::Reviewer)
    return Role::Reviewer;
  return Role::Writer;
}

std::string whenAcceptable(const Task& task, std::string_view state) {
  if (!ended(task.state)) return "Wait until it is " + std::string(state) + ".";
  return canRetry(task) ? "Retry takes it up again." : "Make a new task.";
}

std::string whyNotRetried(const Task& task, RetryPoint from) {
  const std::string why = "There is nothing to try again in " + nameOf(task) + ": it is " + standing(task) + ". ";
  const bool decides = !task.step && (task.state == State::PlanReady || task.state == State::Ready);
  if (from != RetryPoint::Stopped && (canRetry(task) || decides)) {
    const std::string not_ = nameOf(task) + " cannot be taken up again from " + std::string(spell(from)) + ": ";
    switch (from) {
      case RetryPoint::Write:
        return not_ + "no plan of it was accepted. Retry from plan.";
      case RetryPoint::Gate:
        return not_ + "it has no commits yet. Retry from write.";
      case RetryPoint::Review:
        return not_ + (task.flow.hasReview() ? "its gate was not green. Retry from gate."
                                             : "the flow " + task.flow.name + " has no reviewer.");
      default:
        return not_ + "it has not begun. Retry without a point.";
    }
  }
  if (ended(task.state) && task.state != State::Done)
    return task.deleted ? why + "It was deleted." : why + "It is still being taken away; try again in a moment.";
  if (task.state == State::Done || task.state == State::Landed) return why + "Its work has landed; make a new task.";
  if (task.parked.reason == Parked::Question) return why + "Answer the question with a reply.";
  if (task.parked.reason == Parked::Paused) return why + "Resume it.";
  if (task.state == State::Ready) return why + "Accept the work, reply, or name the point to retry from.";
  if (task.state == State::PlanReady) return why + "Accept the plan, reply, or retry from plan.";
  return why + "Wait until it stands still for a reason that can pass.";
}

}  // namespace

Answer onCreated(const Task& task, const Created& fact, std::uint64_t at) {
  if (task.id != 0) return refuse(ErrorCode::WrongState, "There is a " + nameOf(task) + " already; make a new task.");
  if (fact.id == 0 || fact.flow.name.empty() || fact.flow.planner.empty() || fact.flow.writer.empty() ||
      fact.prompt.empty())
    return refuse(
        ErrorCode::InvalidArgument,
        "A task needs an id, a prompt and a flow that names who plans and who writes. Say what is to be done.");
  if (fact.rounds > limits::kRoundsMost)
    return refuse(ErrorCode::Limit,
                  "A task has at most " + std::to_string(limits::kRoundsMost) + " fix rounds. Ask for fewer.");
  if (fact.budget > limits::kBudgetMost) return refuse(ErrorCode::Limit, kBudgetTooLarge);
  Ruling ruling(task, at);
  Payload payload{{"task", static_cast<std::int64_t>(fact.id)},
                  {"project", static_cast<std::int64_t>(fact.project)},
                  {"owner", static_cast<std::int64_t>(fact.owner)},
                  {"title", shortened(fact.title, limits::kTitleBytes)},
                  {"prompt", fact.prompt},
                  {"rounds", static_cast<std::int64_t>(fact.rounds)},
                  {"budget", static_cast<std::int64_t>(fact.budget)},
                  {"flow", fact.flow.name},
                  {"flow.planner", fact.flow.planner},
                  {"flow.writer", fact.flow.writer},
                  {"flow.reviewer", fact.flow.reviewer},
                  {"flow.fresh-reviewer", fact.flow.freshReviewer ? 1 : 0},
                  {"flow.self-review", fact.flow.selfReview ? 1 : 0},
                  {"policy.plan", std::string(spell(fact.policy.plan))},
                  {"policy.command", std::string(spell(fact.policy.command))},
                  {"policy.risky", std::string(spell(fact.policy.risky))},
                  {"policy.landing", std::string(spell(fact.policy.landing))}};
  if (!fact.plan.digest.empty()) {
    payload["plan"] = fact.plan.digest;
    payload["plan.summary"] = fact.plan.summary;
  }
  if (fact.keepsCommits) payload["keeps-commits"] = 1;
  for (const auto& [role, agent] : fact.agents)
    payload["agent." + std::string(spell(role))] = agent;
  ruling.tell("created", std::move(payload));
  ruling.openSnapshot();
  return std::move(ruling).take();
}

Answer onPlanAccepted(const Task& task, const PlanAccepted& fact, std::uint64_t at) {
  if (!task.planAccepted.empty()) {
    if (fact.digest == task.planAccepted) return already();
    return refuse(ErrorCode::Stale, "The plan of " + nameOf(task) + " that was accepted is another one (" +
                                        task.planAccepted + "). Look at it with `coffer plan`" +
                                        (ended(task.state) ? "." : "; a reply can still change the work."));
  }
  if (!canAcceptPlan(task))
    return refuse(ErrorCode::WrongState, "No plan of " + nameOf(task) + " waits to be accepted: it is " +
                                             standing(task) + ". " + whenAcceptable(task, "plan-ready"));
  if (fact.digest != task.plan)
    return refuse(ErrorCode::Stale, "The plan of " + nameOf(task) + " has changed since it was shown: it is now " +
                                        task.plan + ". Read it again with `coffer plan`, then accept that.");
  Ruling ruling(task, at);
  ruling.acceptPlan("person");
  return std::move(ruling).take();
}

Answer onWorkAccepted(const Task& task, const WorkAccepted& fact, std::uint64_t at) {
  if (!task.workAccepted.empty()) {
    if (fact.digest == task.workAccepted) {
      // The first answer again is no answer to who wants it somewhere else.
      const auto& there = task.landBranch.empty() ? task.branch : task.landBranch;
      if (const auto& asked = fact.branch.empty() ? task.branch : fact.branch; asked != there)
        return refuse(ErrorCode::AlreadyDecided, "The work of " + nameOf(task) + " was accepted already, for " + there +
                                                     ", so it does not go to " + asked +
                                                     ". Make a branch of its commit there: git branch.");
      return already(landedOrCandidate(task));
    }
    return refuse(ErrorCode::Stale, "The work of " + nameOf(task) + " that was accepted is another one (" +
                                        task.workAccepted + "). Nothing more can be accepted.");
  }
  if (!canAcceptWork(task))
    return refuse(ErrorCode::WrongState, "No work of " + nameOf(task) + " waits to be accepted: it is " +
                                             standing(task) + ". " + whenAcceptable(task, "ready"));
  if (fact.digest != task.workDigest)
    return refuse(ErrorCode::Stale, "The work of " + nameOf(task) + " has changed since it was shown: it is now " +
                                        task.workDigest + ", commit " + task.candidate +
                                        ". Look at it again with `coffer diff`, then accept that.");
  Ruling ruling(task, at);
  ruling.acceptWork("person", fact.branch);
  auto decision = std::move(ruling).take();
  decision.answer = task.candidate;
  return decision;
}

Answer onReplied(const Task& task, const Replied& fact, std::uint64_t at) {
  if (fact.text.empty())
    return refuse(ErrorCode::InvalidArgument, "The reply is empty. Say what the agent should know or do.");
  if (!canReply(task)) {
    const std::string why = "A reply to " + nameOf(task) + " is not possible now: it is " + standing(task) + ". ";
    if (ended(task.state)) return refuse(ErrorCode::WrongState, why + whenAcceptable(task, {}));
    if (task.parked.reason == Parked::Paused) return refuse(ErrorCode::WrongState, why + "Resume it first.");
    if (task.state == State::Queued && task.parked.reason != Parked::No)
      return refuse(ErrorCode::WrongState, why + "No agent has begun; retry when the cause is gone.");
    return refuse(ErrorCode::WrongState, why + "Wait until it waits for you.");
  }
  Ruling ruling(task, at);
  const Role role = addressee(task);
  std::map<std::string, std::string> more{{"question", task.question},
                                          {"plan", role == Role::Planner ? task.plan : ""}};
  if (role != Role::Planner) more.erase("plan");
  ruling.tell("replied", {{"text", fact.text}, {"to", std::string(spell(role))}});
  ruling.openTurn(role, TurnKind::Reply, std::move(more));
  return std::move(ruling).take();
}

Answer onRetried(const Task& task, const Retried& fact, std::uint64_t at) {
  const bool named = fact.from != RetryPoint::Stopped;
  if (fact.budget.value_or(0) > limits::kBudgetMost) return refuse(ErrorCode::Limit, kBudgetTooLarge);
  if (!canRetryFrom(task, fact.from)) return refuse(ErrorCode::WrongState, whyNotRetried(task, fact.from));
  Ruling ruling(task, at);
  const std::string code = task.parked.code;
  Payload payload{{"code", code}, {"from", std::string(spell(fact.from))}};
  if (fact.budget) payload["budget"] = static_cast<std::int64_t>(*fact.budget);
  ruling.tell("retried", std::move(payload));
  if (ended(task.state) && !task.base.empty())
    ruling.openRestore();
  else if (named || ended(task.state))
    ruling.goOn();
  else if (code == "no-change")
    ruling.openTurn(Role::Writer, TurnKind::NoChange);
  else if (code == "no-plan")
    ruling.openTurn(Role::Planner, TurnKind::Plan);
  else
    ruling.openAgain(*task.last);
  return std::move(ruling).take();
}

Answer onPaused(const Task& task, std::uint64_t at) {
  if (task.parked.reason == Parked::Paused) return already();
  if (!canPause(task))
    return refuse(ErrorCode::WrongState,
                  "Nothing runs in " + nameOf(task) + " that could be paused: it is " + standing(task) + ".");
  Ruling ruling(task, at);
  ruling.park(Parked::Paused, "paused", "Its owner paused it. It goes on where it was when it is resumed.");
  return std::move(ruling).take();
}

Answer onResumed(const Task& task, std::uint64_t at) {
  if (!canResume(task))
    return refuse(ErrorCode::WrongState,
                  nameOf(task) + " is not paused: it is " + standing(task) + ". There is nothing to resume.");
  Ruling ruling(task, at);
  ruling.tell("resumed");
  ruling.openAgain(*task.last);
  return std::move(ruling).take();
}

Answer onCancelled(const Task& task, std::uint64_t at) {
  if (task.state == State::Cancelled) return already();
  if (!canCancel(task)) {
    const std::string why = nameOf(task) + " cannot be cancelled: it is " + standing(task) + ". ";
    if (task.state == State::Landing)
      return refuse(ErrorCode::Busy, why + "Its commit is being written to the repository; wait for the end of that.");
    if (task.state == State::Landed)
      return refuse(ErrorCode::Busy, why + "Its work has landed, and what is left of it is being taken away.");
    return refuse(ErrorCode::WrongState, why + "It has ended; delete it if it should go away.");
  }
  Ruling ruling(task, at);
  ruling.tell("cancelled");
  ruling.openCleanUp();
  return std::move(ruling).take();
}

Answer onDeleted(const Task& task, std::uint64_t at) {
  if (task.deleted) return already();
  if (!canDelete(task)) {
    if (ended(task.state))
      return refuse(ErrorCode::Busy, nameOf(task) + " is still being taken away. Try again in a moment.");
    return refuse(ErrorCode::WrongState,
                  nameOf(task) + " has not ended: it is " + standing(task) + ". Cancel it first.");
  }
  Ruling ruling(task, at);
  ruling.tell("deleted");
  ruling.openErase();
  return std::move(ruling).take();
}

}  // namespace coffer::model
