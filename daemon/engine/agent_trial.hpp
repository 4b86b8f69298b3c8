#pragma once

#include <cstdint>
#include <expected>
#include <string>

#include "api/views.hpp"
#include "dbus/error.hpp"
#include "engine/admission.hpp"
#include "engine/step_run.hpp"
#include "os/async.hpp"

namespace coffer::engine {

/// Runs two small turns of an agent as a planner's would be run (sandbox, gateway, the owner's provider), on an empty
/// folder, the second one as the first's continuation. Everything of them is taken away again but their runs, whose
/// usage counts. It takes a place among the turns that run, and is refused with Busy or NoSpace when there is none for
/// it. `binding` as in a task: AGENT[/MODEL][@PROVIDER].
Async<std::expected<api::AgentTestView, Error>> tryAgent(Context& context, Admission& admission, Settings settings,
                                                         std::uint32_t owner, std::string binding);

}  // namespace coffer::engine
