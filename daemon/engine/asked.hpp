#pragma once

#include <algorithm>
#include <expected>
#include <string>
#include <string_view>
#include <utility>

#include "dbus/error.hpp"

namespace coffer::engine {

/// What a caller asked for cannot be: InvalidArgument with the sentence.
inline std::unexpected<Error> invalid(std::string message) {
  return std::unexpected(Error{ErrorCode::InvalidArgument, std::move(message)});
}

/// Whether a project or a provider can have this name: [a-z0-9][a-z0-9-]*, at most 31 characters.
inline bool goodName(std::string_view name) {
  const auto word = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  return !name.empty() && name.size() <= 31 && word(name.front()) &&
         std::ranges::all_of(name, [&](char c) { return word(c) || c == '-'; });
}

}  // namespace coffer::engine
