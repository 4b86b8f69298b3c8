#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/context.hpp"
#include "os/async.hpp"

namespace coffer::engine {

/// The task a name of ours belongs to: "coffer-17-0-writer-1.service", "t17-out"; 0 for a name of a project that is
/// being added; nothing for a name that is none of ours.
std::optional<std::uint64_t> taskOfName(std::string_view name);

/// Names in a directory of ours that begin with the prefix.
std::vector<std::string> namesBelow(const std::string& directory, std::string_view prefix);

/// Takes away what nobody owns any more: units, mounts, namespaces, inputs and outputs of tasks that are over and of
/// projects whose adding was cut off. Called once at the start, before any step is performed. Tells what it removed.
Async<Done> sweep(Context& context);

/// The same for one task: takes away what belongs to its steps but this one.
Async<Done> tidyOthers(Context& context, std::uint64_t task, std::string step);

/// What was kept of a number that no task has (any more).
void removeTaskDirectory(Context& context, std::uint64_t task);

}  // namespace coffer::engine
