#pragma once

#include <expected>
#include <string>

#include "api/backend.hpp"
#include "dbus/error.hpp"
#include "model/policy.hpp"
#include "store/projects.hpp"

namespace coffer::engine {

/// What a project says where a person is asked, and over that what a task says. Errors: InvalidArgument, Unsupported.
std::expected<model::Policy, Error> policyOf(const store::Project& project, const api::StringMap& asked);

/// What is said of a role that no flow has.
std::string noRole(const std::string& role);

}  // namespace coffer::engine
