#pragma once

#include "workers/worker.hpp"

/// The verbs of coffer-repository. Each function documents the records of its request and its report.
namespace coffer::repository {

/// Reads what a user or an agent committed, out of a work tree that is hostile: IN/source. Writes OUT/pack.
/// With an owner's linked worktree also IN/source-common and IN/source-own, here and in land().
/// Request: ref (HEAD or refs/heads/...; default HEAD), have xN (commits the receiver has), agent 1 (an agent's clone),
/// status 1 (tell
///   what is not in HEAD; an owner's checkout only).
/// Lenders: IN/base/objects, IN/task/objects where they exist.
/// Report: commit, branch (absent when detached), objects, bytes, submodules (count); with status: dirty-count and
/// dirty xN (raw
///   path bytes), or status unknown.
workers::Outcome exportObjects(const workers::Job& job);

/// Checks and indexes IN/pack/pack into OUT/objects/pack (whole packs only), against IN/base/objects and
/// IN/task/objects. Request: commit; have xN; agent 1 (an agent's work: small limits, no new submodule, plain modes);
/// optionally base xN (oldest first: the newest that is in the commit's history counts, else the first), and
///   author-name, author-email, author-time ("SECONDS +HHMM") and message, then the candidate is made on it.
/// Report: commit, tree, commits (count), store xN (file names below OUT/objects/pack), collisions (count) and
/// collision xN (names
///   that differ by case only); with base: base (which counted), subject xN (oldest first), changed (count of paths),
///   nothing 1 (the tree is the base's), candidate (when it was asked for).
workers::Outcome importObjects(const workers::Job& job);

/// The candidate: IN/base/objects, IN/task/objects -> OUT/objects/pack.
/// Request: commit, base (the candidate's parent), author-name, author-email, author-time, message (absent: that of
/// commit); from (a commit: what was changed since then is done to base, by a three-way merge; absent or the same as
/// base: the candidate has the tree of commit); second (a commit that becomes a second parent), known xN (commits of
/// the branch: one that second builds on and base does not is WrongState).
/// Report: candidate, tree, store xN, changed, nothing 1 (the tree is the base's); or conflict alone: a sentence that
/// names the paths. Refusals: BaseGone, WrongState.
workers::Outcome makeCandidate(const workers::Job& job);

/// Makes OUT/tree a checkout with a .git directory, or brings the one that is there to another commit.
/// Request: commit; branch (full name; absent = detached), alternate xN (object directories as the sandbox sees them),
/// user-name,
///   user-email; update 1 and from (the commit it stands at).
/// Report: tree, files (written), differing (paths that git finds changed at once, by their own attributes; normally
/// 0).
workers::Outcome checkout(const workers::Job& job);

/// What a person is shown: OUT/diff.
/// Request: base, candidate, risky xN (patterns, see agents/risky_file.hpp). Report: files, insertions, deletions,
/// bytes, truncated 1 (the diff is longer than was kept), and for each path: path "S NAME" (S one of A M D T R C), for
/// R and C followed by from NAME; risky-count, and of the changed paths that match a pattern the first as risky xN.
workers::Outcome diff(const workers::Job& job);

/// One self-contained pack of what the candidate adds to the base: OUT/pack, OUT/idx.
/// Request: base, candidate. Report: name (forty digits: pack-NAME.pack), objects, bytes.
workers::Outcome pack(const workers::Job& job);

/// Puts IN/pack/{pack,idx} and a branch into the owner's repository IN/source, as the owner.
/// Request: branch (full name), old (forty digits; zeros = create it), new, name (of the pack), step (of this landing,
/// [a-z0-9-]),
///   who ("NAME <EMAIL>", for the reflog), when ("SECONDS +HHMM"), create 1 (the branch may also be missing, whatever
///   old says), note (text for refs/notes/cofferdam).
/// Report: not-noted (why there is no note, which is no reason to refuse), landed (= new), branch, checked-out 0|1,
/// files (paths changed in the work tree), again 1 (it had landed already). Refusals: Stale (the branch is not at old),
/// Dirty (the message names paths), NameTaken, Busy, WrongState, RepositoryUnsupported.
workers::Outcome land(const workers::Job& job);

}  // namespace coffer::repository
