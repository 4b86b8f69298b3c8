#pragma once

#include <string>
#include <vector>

#include "dictionary.hpp"
#include "failure.hpp"

/// What can be told of this machine without the service: by whoever runs coffer, from their side. Entries are as
/// Manager.CheckSystem gives them: name, state, text, problem, remedy.
namespace coffer::cli {

/// Whether this user may work without an administrator's password: the group, or a session at the machine.
Dictionary personCheck();

/// What to look at when the service does not answer: systemd, the bus and its policy, the two daemons' units. `why`:
/// how the call ended.
std::vector<Dictionary> serviceChecks(const Failure& why);

/// Whether the bus itself let the call through to nobody: its policy knows no rule for it.
bool refusedByBus(const Failure& failure);

}  // namespace coffer::cli
