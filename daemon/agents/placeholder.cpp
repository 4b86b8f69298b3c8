#include "agents/placeholder.hpp"

#include <algorithm>

namespace coffer::agents {
namespace {

/// The name of the placeholder that begins at the brace `at`, or empty.
std::string_view nameAt(std::string_view text, std::size_t at) {
  std::size_t end = at + 1;
  while (end < text.size() && ((text[end] >= 'a' && text[end] <= 'z') || text[end] == '-'))
    ++end;
  if (end == at + 1 || end == text.size() || text[end] != '}') return {};
  return text.substr(at + 1, end - at - 1);
}

}  // namespace

std::optional<std::string> unknownPlaceholder(std::string_view text, std::span<const std::string_view> known) {
  for (std::size_t at = text.find('{'); at != std::string_view::npos; at = text.find('{', at + 1)) {
    const auto name = nameAt(text, at);
    if (!name.empty() && std::ranges::find(known, name) == known.end()) return std::string(name);
  }
  return std::nullopt;
}

bool hasPlaceholder(std::string_view text, std::string_view name) {
  for (std::size_t at = text.find('{'); at != std::string_view::npos; at = text.find('{', at + 1))
    if (nameAt(text, at) == name) return true;
  return false;
}

std::string fillPlaceholders(std::string_view text, std::span<const Placeholder> values) {
  std::string result;
  std::size_t from = 0;
  while (true) {
    const auto at = text.find('{', from);
    if (at == std::string_view::npos) break;
    result.append(text, from, at - from);
    const auto name = nameAt(text, at);
    const auto value = std::ranges::find(values, name, &Placeholder::first);
    if (name.empty() || value == values.end()) {
      result += '{';
      from = at + 1;
    } else {
      result += value->second;
      from = at + name.size() + 2;
    }
  }
  result.append(text, from);
  return result;
}

}  // namespace coffer::agents
