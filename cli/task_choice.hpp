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

/// Lets this connection see what is others' for a while: any call with all-users asks for that, and polkit may ask for
/// an administrator's password. Nothing else does, so a mistyped number asks nobody.
void seeAllUsers(Session& session, Connection& bus);

/// The owner of what is nobody's, because their uid is another person's now.
inline constexpr std::uint32_t kNobody = UINT32_MAX;

/// Every task that passes the filter, newest first.
std::vector<Dictionary> allTasks(Connection& bus, const Dictionary& filter);

}  // namespace coffer::cli
