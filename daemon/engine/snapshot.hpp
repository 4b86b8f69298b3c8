#pragma once

#include <expected>
#include <string>

#include "dbus/error.hpp"
#include "engine/step_run.hpp"
#include "os/async.hpp"

namespace coffer::engine {

/// What a repository was when it was looked at.
struct Snapshot {
  std::string commit;
  std::string branch;  ///< full name of what HEAD named; empty when detached
  std::string notIn;   ///< paths that are changed and not in the commit, one a line, as bytes
};

/// Takes the owner's repository into the project's store: opened as the owner, read by a sealed unit of the owner,
/// checked and indexed by another of nobody, and laid out as the checkout that workspaces share. A commit that is there
/// already costs a look.
Async<std::expected<Snapshot, Error>> takeSnapshot(StepRun& run);

/// The first half of that: a commit of the owner's repository, HEAD's or that of a branch (full name), in the project's
/// store. NoCommit when there is none of that name.
Async<std::expected<Snapshot, Error>> takeCommit(StepRun& run, std::string ref);

}  // namespace coffer::engine
