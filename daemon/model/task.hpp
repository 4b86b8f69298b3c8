#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/flow.hpp"
#include "model/parked.hpp"
#include "model/policy.hpp"
#include "model/state.hpp"
#include "model/step.hpp"
#include "model/usage.hpp"

namespace coffer::model {

/// One agent's memory in a task.
struct Conversation {
  std::string session;      ///< as the agent names it; empty = not known yet
  std::uint64_t turns = 0;  ///< ended ones
  bool operator==(const Conversation&) const = default;
};

/// A text that a person or the writer addressed to the other.
struct Comment {
  std::string digest;
  bool writers = false;  ///< the writer's answer to the person or to findings, not the person's reply
  bool operator==(const Comment&) const = default;
};

/// A commit that reached somebody's repository.
struct Landing {
  std::string commit;
  std::string branch;
  std::string where;  ///< the directory, as text
  bool operator==(const Landing&) const = default;
};

/// What is known of the last gate.
struct GateResult {
  std::uint64_t run = 0;  ///< 0 = none yet
  std::string candidate;  ///< the commit it was about
  std::string tree;
  std::string base;
  bool green = false;
  std::string causes;    ///< at most a line
  std::string feedback;  ///< digest
  bool operator==(const GateResult&) const = default;
};

/// What is known of the last review that counts.
struct ReviewResult {
  std::uint64_t run = 0;  ///< 0 = none yet
  std::string candidate;
  std::string digest;  ///< of the review's text
  std::int64_t blocking = 0;
  std::int64_t findings = 0;
  bool unreadable = false;
  bool operator==(const ReviewResult&) const = default;
};

/// One unit of work of one owner, as its events made it. Digests are "sha256:HEX" of texts in the store; commits and
/// trees are hex object ids; times are microseconds CLOCK_REALTIME.
struct Task {
  std::uint64_t id = 0;  ///< 0 = not created yet
  std::uint64_t project = 0;
  std::uint32_t owner = 0;  ///< uid
  std::string title;
  std::string prompt;  ///< digest
  Flow flow;
  Policy policy;
  std::map<Role, std::string> agents;  ///< binding, "codex/MODEL@PROVIDER"
  bool keepsCommits = false;           ///< the candidate is a merge commit, whose second parent is the writer's commit

  State state = State::Queued;
  Park parked;
  Problem problem;
  std::uint64_t round = 0;   ///< fix rounds used since the plan was accepted or the person last replied
  std::uint64_t rounds = 3;  ///< the budget
  std::uint64_t lap = 0;     ///< fix rounds and replies in the whole life
  std::map<std::string, std::uint64_t> attempts;  ///< of this lap: role word -> steps opened

  std::string base;  ///< commit: the candidate's parent, until there is one what the task started from
  /// Commits of the branch that are in our store, oldest first: what the writer's clone was made from, then what was
  /// found when the branch had moved. The newest is what the next candidate is made on.
  std::vector<std::string> bases;
  std::string branch;  ///< the one the task started from
  std::string notIn;   ///< digest of the list of paths that the snapshot does not hold, or empty

  std::string plan;         ///< digest of the plan that waits or counts; empty = none
  std::string planSummary;  ///< at most 72 characters
  std::string planAccepted;

  std::string writerCommit;
  std::string candidate;
  std::string tree;
  std::int64_t changedPaths = 0;  ///< that the candidate changes
  GateResult gate;
  ReviewResult review;
  std::string reviewText;     ///< digest of the last review that could be read, whatever came after it
  std::string answer;         ///< digest of what the writer last said to findings or to the person, or empty
  std::uint64_t reviews = 0;  ///< reviews begun in the whole life; numbers fresh reviewers
  bool reviewKept = false;    ///< the target moved after the review: the gate runs again, the review stays
  bool moved = false;         ///< the candidate was made anew because the branch had moved, and nothing else changed
  std::uint64_t moves = 0;    ///< of the candidate since a person's last word
  std::string conflict;       ///< digest: why the work could not be put on the branch, for the writer; or empty

  std::int64_t risky = 0;  ///< paths of what is shown that take effect outside of a build
  std::string diff;        ///< digest of the diff that is shown
  std::string workDigest;  ///< of what waits for or got the person's word
  std::string workAccepted;
  std::string landBranch;  ///< asked for at acceptance; empty = the start branch
  std::vector<Landing> landed;

  std::string question;  ///< digest
  Role questionBy = Role::Writer;
  std::vector<Comment> comments;  ///< oldest first

  std::map<std::string, Conversation> conversations;  ///< letter ->
  Usage usage;
  std::uint64_t budget = 0;         ///< of Usage::tokens() in all turns; 0 = none
  std::uint64_t runs = 0;           ///< turns that ended
  std::uint64_t troubles = 0;       ///< passing troubles in a row
  std::uint64_t interruptions = 0;  ///< in a row

  std::optional<Step> step;  ///< the open one
  std::optional<Step> last;  ///< the one closed last: what a retry does again
  /// A turn that was cut off by a decision and whose end was not told yet: its usage still counts.
  std::optional<Step> stopping;
  TurnKind cause =
      TurnKind::Write;  ///< of the writer's last turn that was neither a self-review nor a no-change repair
  bool noChangeTold = false;
  bool repaired = false;  ///< the one repair turn of this plan or review was used

  bool cleaned = false;
  bool deleted = false;
  std::uint64_t created = 0;
  std::uint64_t changed = 0;
  std::uint64_t sequence = 0;  ///< of the last event

  /// The commit that the writer's clone and every workspace begin with.
  [[nodiscard]] const std::string& start() const { return bases.empty() ? base : bases.front(); }

  bool operator==(const Task&) const = default;
};

/// The letter of the conversation that plays a role in this task now.
std::string conversationOf(const Task& task, Role role);

}  // namespace coffer::model
