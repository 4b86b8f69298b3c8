#pragma once

#include <expected>
#include <string>

#include "workers/repository/source.hpp"
#include "workers/repository/writes.hpp"

namespace coffer::repository {

/// Moves one branch of an owner's repository from one commit to another, as git's files have it, without any hook.
struct BranchMove {
  std::string branch;  ///< full name
  std::string old_id;  ///< zeros: it must not exist
  std::string new_id;
  std::string who;      ///< "NAME <EMAIL>" for the reflog
  std::string when;     ///< "SECONDS +HHMM"
  std::string message;  ///< one line
  bool head = false;    ///< HEAD stands on this branch, so its log gets a line too

  /// Compare and swap, under the branch's own lock. `stage` is a directory inside the common git directory for the file
  /// that becomes the lock; with `resumed` a lock that holds the new id is this landing's own, left by a run that was
  /// killed. A branch that is at the new commit already is done. Stale: it is elsewhere; Busy: somebody holds the lock.
  [[nodiscard]] std::expected<void, Error> run(const Source& source, const std::string& stage, bool resumed,
                                               Writes& writes) const;

  /// Takes away the lock that a killed run of this landing left, if it did.
  void removeLock(const Source& source) const;

 private:
  [[nodiscard]] std::expected<bool, Error> isMoved(const Source& source) const;
  [[nodiscard]] bool addToLog(int git, const std::string& log, Writes& writes) const;
};

/// Why a branch could not be named beside those that exist ("refs/heads/a" and "refs/heads/a/b"); empty when it could.
std::string inTheWay(const Source& source, const std::string& branch);

/// WrongState when another worktree of the repository stands on the branch, a linked one or the main one: its files
/// would no longer be what its HEAD says.
std::expected<void, Error> elsewhere(const Source& source, const std::string& branch);

}  // namespace coffer::repository
