#pragma once

#include <expected>
#include <string>
#include <string_view>

#include "model/flow.hpp"

namespace coffer::agents {

/// Reads `flows/NAME.toml`: which conversation plays which role, and who reviews. The error is one sentence that begins
/// with `FILE:LINE: `. The flow's name is the file's.
std::expected<model::Flow, std::string> readFlow(std::string_view text, std::string_view name, std::string_view file);

}  // namespace coffer::agents
