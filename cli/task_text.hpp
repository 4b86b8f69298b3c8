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
};

/// A text of a task, read in pieces, so that it also works over ssh. `what` as in Task.ReadText; `run`: of this run.
TaskText readTaskText(TaskClient& task, const std::string& what, std::optional<std::uint64_t> run = std::nullopt);

}  // namespace coffer::cli
