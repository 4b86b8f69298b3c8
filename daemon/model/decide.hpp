#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "dbus/error.hpp"
#include "model/event.hpp"
#include "model/fact.hpp"
#include "model/step.hpp"
#include "model/task.hpp"

namespace coffer::model {

/// What follows from a fact. The events hold everything, the step included ("step-opened"): what is stored first and
/// acted on after.
struct Decision {
  std::vector<Event> events;  ///< in order, without sequence
  std::optional<Step> step;   ///< the step that is open now because of them, if they opened one
  bool already = false;       ///< decided before, the same way: nothing changes, `answer` is the first answer again
  std::string answer;         ///< what the caller gets: the commit for WorkAccepted, else empty
};

/// The rules of a task's life. Pure and total: without I/O, clock or randomness, and for every task and fact either a
/// decision or an error that says what, why and what to do. Errors: WrongState (not possible now), Stale (about
/// something that is not so any more: another digest, another step), InvalidArgument, Busy. `at` is the time of the
/// fact in microseconds CLOCK_REALTIME. `task` is Task{} for Created.
std::expected<Decision, Error> decide(const Task& task, const Fact& fact, std::uint64_t at);

/// The task after a decision; for callers that do not store (tests, previews).
Task after(Task task, const Decision& decision);

}  // namespace coffer::model
