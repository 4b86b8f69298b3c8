#pragma once

#include <string>
#include <string_view>

#include "model/task.hpp"

namespace coffer::engine {

/// The message of a task's candidate: the plan's summary, the subjects of the writer's commits (one a line, oldest
/// first; left out when there is one that says what the summary says), and the trailers of decisions known by then.
std::string commitMessage(const model::Task& task, std::string_view subjects);

/// A branch as people write it: without "refs/heads/".
std::string shortBranch(std::string_view branch);

/// Why work cannot be put on its branch, which has moved to the commit `tip`, with the sentence that names the paths:
/// for the person, and for the writer.
std::string conflictWords(const model::Task& task, const std::string& tip, std::string_view words);
std::string conflictFeedback(const model::Task& task, const std::string& tip, std::string_view words);

}  // namespace coffer::engine
