#pragma once

#include <expected>
#include <string>

#include "dbus/error.hpp"

namespace coffer::gateway {

/// Reads the run's real key from the unit's credential, `$CREDENTIALS_DIRECTORY/key`; one newline at its end is not
/// part of it.
std::expected<std::string, Error> readKey();

/// The same two texts, in a time that does not tell how much of them is the same.
bool sameKey(std::string_view one, std::string_view other);

}  // namespace coffer::gateway
