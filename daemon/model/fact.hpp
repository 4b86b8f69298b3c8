#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "dbus/error.hpp"
#include "model/flow.hpp"
#include "model/policy.hpp"
#include "model/retry_point.hpp"
#include "model/turn.hpp"
#include "model/usage.hpp"

/// What can happen to a task. Facts from people carry what they were shown; facts from the world carry the name of the
/// step they end, so that a fact told twice counts once. Texts are told by digest: the texts themselves go to the store
/// in the same transaction.
namespace coffer::model {

// From people.

/// A plan: what a turn left, or what the person brings along.
struct PlanDraft {
  std::string digest;  ///< empty = no draft
  std::string summary;
  std::string refusal;  ///< why it cannot be used; empty = it can
};

struct Created {
  std::uint64_t id = 0;
  std::uint64_t project = 0;
  std::uint32_t owner = 0;
  std::string title;
  std::string prompt;  ///< digest
  Flow flow;
  Policy policy;
  std::map<Role, std::string> agents;
  std::uint64_t rounds = 3;
  bool keepsCommits = false;  ///< see Task
  std::uint64_t budget = 0;   ///< tokens of all turns; 0 = none
  PlanDraft plan;             ///< the person's own, checked already; without a digest a planner drafts one
};

struct PlanAccepted {
  std::string digest;
};

struct WorkAccepted {
  std::string digest;
  std::string branch;  ///< empty = the branch the task started from
};

struct Replied {
  std::string text;  ///< digest
};

/// The person, or a clock for a task parked with a time, wants the trouble tried again; the person also from an earlier
/// point, and also of a task that failed or was cancelled.
struct Retried {
  RetryPoint from = RetryPoint::Stopped;
  std::optional<std::uint64_t> budget;  ///< another one from now on; 0 = none
};
struct Paused {};
struct Resumed {};
struct Cancelled {};
struct Deleted {};

// From the world. `step` is the name of the step that ended.

struct SnapshotTaken {
  std::string step;
  std::string base;    ///< commit
  std::string branch;  ///< what HEAD named; empty = detached
  std::string notIn;   ///< digest of the list of changed paths that are not in it, or empty
};

/// Restore is done.
struct Restored {
  std::string step;
};

/// What a review turn left.
struct ReviewDraft {
  std::string digest;   ///< of its text; empty = none
  std::string refusal;  ///< why it cannot be read; empty = it can
  std::int64_t blocking = 0;
  std::int64_t findings = 0;
};

struct TurnEnded {
  std::string step;
  std::uint64_t run = 0;
  TurnOutcome outcome = TurnOutcome::Ok;
  std::string words;        ///< why, when not Ok: a part of a sentence
  std::string provider;     ///< whose answers it depended on, by the name its owner gave; empty = none
  std::uint64_t until = 0;  ///< RateLimited, Unreachable: when to try again; 0 = not known
  std::string session;      ///< empty = not told
  Usage usage;
  std::string question;  ///< digest; comes before everything else
  std::string answer;    ///< digest of what the writer says to findings or to the person
  PlanDraft plan;        ///< planner's turns
  ReviewDraft review;    ///< reviewer's turns
  std::string problem;   ///< digest of the refusal as a text, input of the repair turn
  std::string notice;    ///< what happened to the task's disk before the turn, as a sentence; mostly empty
};

struct Imported {
  std::string step;
  std::string writerCommit;
  std::string base;  ///< the candidate's parent: one of the task's bases
  std::string candidate;
  std::string tree;      ///< the candidate's
  bool nothing = false;  ///< no commit beyond the base, or the base's tree
  std::string subjects;  ///< of the writer's commits, one a line, oldest first
  std::int64_t changed = 0;
};

/// The commits cannot be taken in as they are, and the writer can do something about it.
struct ImportRefused {
  std::string step;
  Error error;
  std::string feedback;  ///< digest of what the writer is told
};

struct GateEnded {
  std::string step;
  std::uint64_t run = 0;
  std::string candidate;  ///< what was built
  bool green = false;
  bool environment = false;  ///< red, but not the work's fault
  std::string causes;        ///< at most a line
  std::string feedback;      ///< digest of what the writer is told
};

struct DiffReady {
  std::string step;
  std::string candidate;
  std::string diff;        ///< digest of what is shown
  std::int64_t risky = 0;  ///< changed paths that take effect outside of a build
  std::string riskyPaths;  ///< the first of them, one a line
};

struct Landed {
  std::string step;
  std::string commit;
  std::string branch;
  std::string where;
};

/// Landing found the branch moved and made a new candidate on top of it. The gate runs again, no round is spent.
struct CandidateMoved {
  std::string step;
  std::string base;
  std::string candidate;
  std::string tree;
};

/// A step could not be done. For Land this means: nothing was changed, or it was put back.
struct StepFailed {
  std::string step;
  Error error;
  std::string base;      ///< Land: where the branch is, when the work conflicts with what is there; it is in our store
  std::string feedback;  ///< Land: digest of what the writer is told about that
};

/// PID 1 does not know the step's run any more: it runs again.
struct StepInterrupted {
  std::string step;
};

/// CleanUp or Erase is done.
struct CleanedUp {
  std::string step;
};

/// Nothing can be done for this task any more (its project or its store is gone).
struct GivenUp {
  Error error;
};

using Fact = std::variant<Created, PlanAccepted, WorkAccepted, Replied, Retried, Paused, Resumed, Cancelled, Deleted,
                          SnapshotTaken, Restored, TurnEnded, Imported, ImportRefused, GateEnded, DiffReady, Landed,
                          CandidateMoved, StepFailed, StepInterrupted, CleanedUp, GivenUp>;

}  // namespace coffer::model
