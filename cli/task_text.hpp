#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "clients.hpp"

namespace coffer::cli {

struct TaskText {
  std::string text;    ///< as the bus gave it: not yet visible
  std::string digest;  ///< of the whole
  bool cut = false;    ///< there was more than kLogShownBytes, or it changed again and again while it was read
  bool late = false;   ///< of a log that grows: only its last kLogShownBytes
};

/// Where the last `most` bytes of the log of a run that goes on begin, to a few of its lines; 0 when there are no more.
/// Asks for a few bytes, some twenty times when it is long. `options` as of ReadText.
std::uint64_t beginOfLast(TaskClient& task, const Dictionary& options, std::uint64_t most);

/// A text of a task, read in pieces, so that it also works over ssh. `what` as in Task.ReadText; `run`: of this run.
TaskText readTaskText(TaskClient& task, const std::string& what, std::optional<std::uint64_t> run = std::nullopt);

}  // namespace coffer::cli
