#pragma once

#include <cstdint>
#include <string>

namespace coffer::model {

/// Why a task does not go on from its state.
enum class Parked { No, Question, Risky, Command, Blocked, Quota, Retry, AgentPaused, Budget, Paused };

/// The reason in full: a code for programs, a sentence for people, and when it ends by itself.
struct Park {
  Parked reason = Parked::No;
  std::string code;
  std::string words;
  std::uint64_t until = 0;  ///< microseconds CLOCK_REALTIME, 0 = not known
  bool operator==(const Park&) const = default;
};

/// Something the owner should know about a task that is not a reason to stand still by itself.
struct Problem {
  std::string code;
  std::string words;
  bool operator==(const Problem&) const = default;
};

}  // namespace coffer::model
