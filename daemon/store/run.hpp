#pragma once

#include <cstdint>
#include <string>

#include "model/usage.hpp"

namespace coffer::store {

/// What is recorded before the unit of a run is asked for.
struct RunStart {
  std::uint64_t task = 0;  ///< an agent's test has the number of a task that is never made
  std::string step;        ///< name of the step it is done for
  std::string kind;        ///< turn, gate, review, worker, gateway, ...
  std::string role;
  std::string agent;
  std::string model;
  std::uint64_t round = 0;
  std::uint64_t attempt = 1;
  std::string unit;                ///< unique: name of the unit with its suffix
  std::uint64_t conversation = 0;  ///< id, 0 = none
  std::uint32_t uid = 0;
  std::string boot;           ///< boot id when it began
  std::uint64_t started = 0;  ///< microseconds CLOCK_REALTIME
};

/// What is recorded when it ended. Source: PID 1's record of the unit; the usage as in model::Usage.
struct RunEnd {
  std::uint64_t run = 0;
  std::uint64_t ended = 0;  ///< microseconds CLOCK_REALTIME
  std::string result;       ///< ok or a word for what happened
  int code = 0;             ///< CLD_EXITED and so on
  int status = 0;           ///< exit status or signal
  std::string invocation;   ///< InvocationID, hex
  std::string text;         ///< digest or a line
  model::Usage usage;
};

struct Run {
  std::uint64_t id = 0;
  RunStart start;
  RunEnd end;  ///< ended = 0 while it runs
};

}  // namespace coffer::store
