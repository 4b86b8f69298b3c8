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

bool canRetry(const Task& task) {
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

bool canPause(const Task& task) {
  if (!task.step) return false;
  switch (task.step->kind) {
    case StepKind::Snapshot:
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
