#pragma once

#include "api/arguments.hpp"

namespace coffer::api {

/// The options that AddProject and Project.Set have in common.
[[nodiscard]] ProjectSettings takeProjectSettings(Options& options);

}  // namespace coffer::api
