#pragma once

#include <expected>
#include <optional>
#include <string>

#include "connection.hpp"
#include "session.hpp"

namespace coffer::cli {

/// A project: the one of that name or, without a name, the one whose directory holds the current directory.
std::expected<ObjectEntry, Failure> chooseProject(Session& session, Connection& bus, const std::string& name);

/// Bytes of a path as the bus has them, without a terminating zero.
std::string directoryOf(const Dictionary& project);

/// Whether `path` is `directory` or below it; both absolute and without links.
bool isWithin(const std::string& path, const std::string& directory);

}  // namespace coffer::cli
