#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <vector>

#include "dbus/error.hpp"
#include "engine/session.hpp"
#include "engine/step_run.hpp"
#include "engine/turn_plan.hpp"
#include "os/async.hpp"

namespace coffer::engine {

/// What an ended turn came to. The fact is not yet in the outcome: its run is recorded first.
struct TurnResult {
  model::TurnEnded fact;
  StepOutcome outcome;
  std::string
      told;  ///< for the run: what the agent said of its failure, or what is known of it; empty when it went well
};

/// Stops the gateway, lets the collector read what the agent printed and left, and makes the fact of both. `known` is
/// false when nobody knows how the unit ended. Does the same when it is done again after a crash.
Async<TurnResult> readTurn(StepRun& run, const TurnPlan& plan, Session& session, std::uint64_t runId,
                           const sandbox::UnitEnd& end, bool known);

/// The end of the run and what was refused in it, once.
std::expected<void, Error> recordEnd(StepRun& run, const std::vector<store::Refusal>& refused, std::uint64_t id,
                                     const sandbox::UnitEnd& end, const model::Usage& usage, const std::string& words);

}  // namespace coffer::engine
