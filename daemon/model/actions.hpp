#pragma once

#include <string>
#include <utility>
#include <vector>

#include "model/task.hpp"

namespace coffer::model {

/// What the state allows the owner now, the same for every caller: accept-plan, accept-work, reply, retry, cancel,
/// delete. decide() agrees with it.
std::vector<std::string> actions(const Task& task);

/// What waits for the person's word: (what, digest), what = plan, work or question.
std::vector<std::pair<std::string, std::string>> pending(const Task& task);

/// Why it stands still and what for, empty code when it does not: what the bus shows as Waiting.
struct Waiting {
  std::string code;
  std::string words;
  std::uint64_t until = 0;  ///< microseconds CLOCK_REALTIME, 0 = not known
  bool operator==(const Waiting&) const = default;
};
Waiting waiting(const Task& task);

/// Whether only a person can make it go on.
bool needsPerson(const Task& task);

}  // namespace coffer::model
