#pragma once

#include <expected>
#include <map>
#include <string>
#include <vector>

#include "failure.hpp"

namespace coffer::cli {

using Assignments = std::map<std::string, std::string>;

/// "landing=auto" and the like, as typed after `option`.
std::expected<Assignments, Failure> parseAssignments(const std::vector<std::string>& words, const std::string& option,
                                                     const std::string& example);

/// Whether "writer=" makes sense: it takes away what was set before.
enum class Emptiness { Refused, Allowed };

/// "writer=codex:MODEL", with the bus's way of writing agent and model: codex/MODEL. `host`: the machine whose agents
/// they are, or empty.
std::expected<Assignments, Failure> parseAgents(const std::vector<std::string>& words, const std::string& host,
                                                Emptiness emptiness = Emptiness::Refused);

}  // namespace coffer::cli
