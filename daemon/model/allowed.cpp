#include "model/rules.hpp"

namespace coffer::model {

bool canAcceptPlan(const Task& task) {
  return task.state == State::PlanReady && !task.step && task.parked.reason == Parked::No && !task.plan.empty();
}

bool canAcceptWork(const Task& task) { return task.state == State::Ready && !task.step && !task.workDigest.empty(); }

bool canReply(const Task& task) {
  if (task.step) return false;
  switch (task.state) {
    case State::PlanReady:
    case State::Ready:
      return true;
    case State::Planning:
    case State::Writing:
    case State::Verifying:
    case State::Reviewing:
      return task.parked.reason != Parked::No && task.parked.reason != Parked::Paused;
    default:
      return false;
  }
}

namespace {

// What was kept of a task that failed or was cancelled is enough to take it up again; one that landed has nothing left
// to do.
bool canComeBack(const Task& task) {
  return (task.state == State::Failed || task.state == State::Cancelled) && task.cleaned && !task.deleted && !task.step;
}

}  // namespace

bool canRetry(const Task& task) {
  if (canComeBack(task)) return true;
  if (task.step || !task.last) return false;
  switch (task.parked.reason) {
    case Parked::Blocked:
    case Parked::Quota:
    case Parked::Retry:
    case Parked::AgentPaused:
    case Parked::Budget:
      return task.last->kind != StepKind::Land;
    default:
      return false;
  }
}

bool canRetryFrom(const Task& task, RetryPoint from) {
  const bool decides = !task.step && (task.state == State::PlanReady || task.state == State::Ready);
  if (!canRetry(task) && !decides) return false;
  switch (from) {
    case RetryPoint::Stopped:
      return canRetry(task);
    case RetryPoint::Plan:
      return !task.base.empty();
    case RetryPoint::Write:
      return !task.planAccepted.empty();
    case RetryPoint::Gate:
      return !task.candidate.empty();
    case RetryPoint::Review:
      return task.flow.hasReview() && !task.candidate.empty() && task.gate.green &&
             task.gate.candidate == task.candidate;
  }
  return false;
}

bool canPause(const Task& task) {
  if (!task.step) return false;
  switch (task.step->kind) {
    case StepKind::Snapshot:
    case StepKind::Restore:
    case StepKind::Turn:
    case StepKind::Import:
    case StepKind::Gate:
    case StepKind::Diff:
      return true;
    default:
      return false;
  }
}

bool canResume(const Task& task) { return task.parked.reason == Parked::Paused && !task.step && task.last; }

bool canCancel(const Task& task) {
  return task.id != 0 && !ended(task.state) && task.state != State::Landing && task.state != State::Landed &&
         task.state != State::Pushing;
}

bool canDelete(const Task& task) { return ended(task.state) && task.cleaned && !task.deleted; }

}  // namespace coffer::model
