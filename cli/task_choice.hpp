#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "connection.hpp"
#include "session.hpp"
#include "verb.hpp"

namespace coffer::cli {

struct TaskOption {
  std::optional<std::uint64_t> id;
  bool allUsers = false;  ///< it may be somebody else's
};

/// Gives a verb the argument TASK, which may be left out, and --all-users.
void addTaskOption(Verb& verb, TaskOption& option);

/// Which task is taken when none is named: one that waits for the person or, for verbs that only look, one that goes
/// on.
enum class WhenMissing { Waiting, WaitingOrLive };

/// The task that is meant: the named one, or the only one there is.
std::expected<std::unique_ptr<TaskClient>, Failure> chooseTask(Session& session, Connection& bus,
                                                               const TaskOption& option,
                                                               WhenMissing missing = WhenMissing::Waiting);

/// Every task that passes the filter, newest first.
std::vector<Dictionary> allTasks(Connection& bus, const Dictionary& filter);

}  // namespace coffer::cli
