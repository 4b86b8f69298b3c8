#pragma once

#include <expected>
#include <optional>

#include "dbus/error.hpp"

namespace coffer::engine {

/// What coffer-walls said when it tried what every sandbox needs of it: each nothing when it can be had, or why not. An
/// error is that there was no answer.
struct WallsAnswers {
  using Answer = std::expected<std::optional<Error>, Error>;
  Answer loop;
  Answer table;
  Answer userNamespace;
};

}  // namespace coffer::engine
