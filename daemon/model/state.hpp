#pragma once

namespace coffer::model {

/// Where a task stands. Why it does not go on from there is Parked's business.
enum class State {
  Queued,
  Planning,
  PlanReady,
  Writing,
  Verifying,
  Reviewing,
  Ready,
  Landing,
  Landed,
  Pushing,
  Done,
  Failed,
  Cancelled,
};

/// An ended task gets another state only when a failed or cancelled one is taken up again (Retried).
constexpr bool ended(State state) {
  return state == State::Done || state == State::Failed || state == State::Cancelled;
}

}  // namespace coffer::model
