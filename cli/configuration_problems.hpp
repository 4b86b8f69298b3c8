#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "connection.hpp"

namespace coffer::cli {

/// What is wrong in the machine's configuration files, each `FILE:LINE: what`, as the service says it now.
std::vector<std::string> configurationProblems(Connection& bus);

/// Those of the file NAME of a kind ("agents").
std::vector<std::string> problemsOf(const std::vector<std::string>& problems, std::string_view kind,
                                    std::string_view name);

/// The names of all files of a kind that have a problem, sorted.
std::vector<std::string> namesWithProblems(const std::vector<std::string>& problems, std::string_view kind);

}  // namespace coffer::cli
