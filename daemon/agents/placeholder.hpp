#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace coffer::agents {

/// A placeholder is `{word}` with a word of a-z and dashes. Any other brace is an ordinary character, so JSON and TOML
/// can be written without escapes. What is filled in is never looked at again: a value may hold braces.
using Placeholder = std::pair<std::string_view, std::string_view>;  ///< name, value

/// The first placeholder of the text that is not in the list, if there is one.
std::optional<std::string> unknownPlaceholder(std::string_view text, std::span<const std::string_view> known);

/// Whether the text has this placeholder.
bool hasPlaceholder(std::string_view text, std::string_view name);

/// The text with every placeholder of the list filled in; one that is not in the list stays as it is.
std::string fillPlaceholders(std::string_view text, std::span<const Placeholder> values);

}  // namespace coffer::agents
