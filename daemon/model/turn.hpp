#pragma once

namespace coffer::model {

/// What an agent is asked to be. Which conversation plays a role is the flow's business.
enum class Role { Planner, Writer, Reviewer };

/// What one turn is for; picks the prompt.
enum class TurnKind {
  Plan,        ///< draft the plan
  PlanRepair,  ///< the draft could not be used: once
  Write,       ///< the first turn after the plan was accepted
  NoChange,    ///< the writer changed nothing and asked nothing: once
  FixGate,     ///< a fix round caused by a red gate or by commits that cannot be taken in
  FixReview,   ///< a fix round caused by blocking findings
  SelfReview,  ///< flows without a reviewer: the writer looks at its own work
  Review,
  ReviewRepair,  ///< the review could not be read: once
  Reply,         ///< the person answered, to whoever of planner, writer and reviewer is asked next
};

/// How the run of a turn ended, told apart by the engine from PID 1's record, the gateway's and the collector's.
enum class TurnOutcome {
  Ok,
  Failed,
  TimedOut,
  Killed,
  OomKilled,
  OutputLimit,  ///< it printed more than its output image holds
  DiskFull,     ///< it failed, and the task's image is full
  Interrupted,  ///< PID 1 does not know it any more (reboot, crash): runs again
  RateLimited,
  Unreachable,  ///< the provider could not be reached, a passing trouble
  AuthFailed,
  OverBudget,  ///< the task's budget of tokens is used up: in the middle of the turn, or before it began (run 0)
};

}  // namespace coffer::model
