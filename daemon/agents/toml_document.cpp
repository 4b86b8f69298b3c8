#include "agents/toml_document.hpp"

#include <algorithm>
#include <toml++/toml.hpp>

namespace coffer::agents {
namespace {

TomlNode plain(const toml::node& node) {
  TomlNode result;
  result.line = node.source().begin.line;
  if (const auto* table = node.as_table()) {
    result.kind = TomlNode::Kind::Table;
    result.members.reserve(table->size());
    for (const auto& [key, value] : *table) {
      auto member = plain(value);
      if (key.source().begin.line != 0) member.line = key.source().begin.line;
      result.members.emplace_back(std::string(key.str()), std::move(member));
    }
    std::stable_sort(result.members.begin(), result.members.end(),
                     [](const auto& a, const auto& b) { return a.value.line < b.value.line; });
  } else if (const auto* array = node.as_array()) {
    result.kind = TomlNode::Kind::Array;
    result.items.reserve(array->size());
    for (const auto& value : *array)
      result.items.push_back(plain(value));
  } else if (const auto* text = node.as_string()) {
    result.kind = TomlNode::Kind::Text;
    result.text = text->get();
  } else if (const auto* integer = node.as_integer()) {
    result.kind = TomlNode::Kind::Integer;
    result.integer = integer->get();
  } else if (const auto* boolean = node.as_boolean()) {
    result.kind = TomlNode::Kind::Boolean;
    result.boolean = boolean->get();
  } else {
    result.kind = TomlNode::Kind::Other;
  }
  return result;
}

}  // namespace

const TomlNode* TomlNode::find(std::string_view key) const {
  for (const auto& [name, value] : members)
    if (name == key) return &value;
  return nullptr;
}

std::expected<TomlNode, std::string> parseToml(std::string_view text, std::string_view file) {
  try {
    return plain(toml::parse(text, file));
  } catch (const toml::parse_error& error) {
    return std::unexpected(std::string(file) + ":" + std::to_string(error.source().begin.line) + ": " +
                           std::string(error.description()));
  }
}

}  // namespace coffer::agents
