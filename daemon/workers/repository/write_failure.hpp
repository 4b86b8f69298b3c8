#pragma once

#include <expected>
#include <string>

#include "dbus/error.hpp"

/// What is told when the owner's repository cannot be written.
namespace coffer::repository {

/// Whether this errno says that there is no room: on the disk, or for its user.
bool isFull(int number);

/// NoSpace; `what` follows "so the landing".
std::unexpected<Error> noSpace(const std::string& what);

/// errno of the write that failed: NoSpace, or `otherwise` with the system's words. `what` follows "The landing
/// cannot".
std::unexpected<Error> cannot(const std::string& what, ErrorCode otherwise = ErrorCode::Internal);

}  // namespace coffer::repository
