#pragma once

#include <string>
#include <string_view>

#include "model/task.hpp"

namespace coffer::engine {

/// The message of a task's candidate: the plan's summary, the subjects of the writer's commits (one a line, oldest
/// first; left out when there is one that says what the summary says), and the trailers of decisions known by then.
std::string commitMessage(const model::Task& task, std::string_view subjects);

}  // namespace coffer::engine
