#pragma once

#include <chrono>

/// Named limits of questions about users and groups, as those of model/limits.hpp: the comment before a constant is its
/// row in docs/limits.md. They are here because nothing but these questions needs them.
namespace coffer::limits {

/// Microseconds until a question about users and groups is given up: what asked fails with Environment.
inline constexpr std::chrono::microseconds kAccountTime{30'000'000};

}  // namespace coffer::limits
