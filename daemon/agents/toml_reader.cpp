#include "agents/toml_reader.hpp"

#include <algorithm>

namespace coffer::agents {
namespace {

const TomlNode kEmptyTable;

}  // namespace

TomlReader::TomlReader(const TomlNode& table, std::string where, Fault& fault)
    : table_(&table), where_(std::move(where)), fault_(&fault) {}

std::string TomlReader::name(std::string_view key) const {
  return where_.empty() ? std::string(key) : where_ + "." + std::string(key);
}

std::uint32_t TomlReader::line(std::string_view key) const {
  const auto* node = table_->find(key);
  return node != nullptr ? node->line : table_->line;
}

void TomlReader::fail(std::uint32_t line, std::string_view message) {
  if (*fault_) return;
  fault_->text = fault_->file + ":" + std::to_string(std::max(line, 1U)) + ": " + std::string(message);
}

const TomlNode* TomlReader::take(std::string_view key, TomlNode::Kind kind, std::string_view kindName) {
  asked_.emplace_back(key);
  const auto* node = table_->find(key);
  if (node != nullptr && node->kind != kind) {
    fail(node->line, name(key) + " must be " + std::string(kindName));
    return nullptr;
  }
  return node;
}

std::string TomlReader::text(std::string_view key) {
  const auto* node = take(key, TomlNode::Kind::Text, "text in quotes");
  if (node == nullptr || node->text.empty()) {
    fail(line(key), name(key) + " is missing");
    return {};
  }
  return node->text;
}

std::string TomlReader::text(std::string_view key, std::string_view otherwise) {
  const auto* node = take(key, TomlNode::Kind::Text, "text in quotes");
  return node != nullptr ? node->text : std::string(otherwise);
}

bool TomlReader::boolean(std::string_view key, bool otherwise) {
  const auto* node = take(key, TomlNode::Kind::Boolean, "true or false");
  return node != nullptr ? node->boolean : otherwise;
}

std::int64_t TomlReader::integer(std::string_view key, std::int64_t otherwise, std::int64_t least, std::int64_t most) {
  const auto* node = take(key, TomlNode::Kind::Integer, "a whole number");
  if (node == nullptr) return otherwise;
  if (node->integer < least || node->integer > most) {
    fail(node->line, name(key) + " must be from " + std::to_string(least) + " to " + std::to_string(most));
    return otherwise;
  }
  return node->integer;
}

std::vector<std::string> TomlReader::texts(std::string_view key) {
  std::vector<std::string> result;
  const auto* node = take(key, TomlNode::Kind::Array, "a list of texts");
  if (node == nullptr) return result;
  for (const auto& item : node->items) {
    if (item.kind != TomlNode::Kind::Text) {
      fail(item.line, name(key) + " must be a list of texts");
      return {};
    }
    result.push_back(item.text);
  }
  return result;
}

std::string TomlReader::word(std::string_view key, const std::vector<std::string_view>& words,
                             std::optional<std::string_view> otherwise) {
  const auto value = otherwise ? text(key, *otherwise) : text(key);
  if (std::ranges::find(words, value) != words.end()) return value;
  std::string message = name(key) + " must be one of";
  for (const auto word : words)
    message += " " + std::string(word);
  fail(line(key), message);
  return {};
}

std::vector<std::pair<std::string, const TomlNode*>> TomlReader::members(std::string_view key) {
  std::vector<std::pair<std::string, const TomlNode*>> result;
  if (const auto* node = take(key, TomlNode::Kind::Table, "a table"))
    for (const auto& [member, value] : node->members)
      result.emplace_back(member, &value);
  return result;
}

TomlReader TomlReader::table(std::string_view key) {
  const auto* node = take(key, TomlNode::Kind::Table, "a table");
  return {node != nullptr ? *node : kEmptyTable, name(key), *fault_};
}

std::vector<TomlReader> TomlReader::tables(std::string_view key) {
  std::vector<TomlReader> result;
  const auto* node = take(key, TomlNode::Kind::Array, "an array of tables");
  if (node == nullptr) return result;
  for (const auto& item : node->items) {
    if (item.kind != TomlNode::Kind::Table) {
      fail(item.line, name(key) + " must be an array of tables");
      return {};
    }
    result.emplace_back(item, name(key), *fault_);
  }
  return result;
}

void TomlReader::finish() {
  for (const auto& [key, value] : table_->members)
    if (std::ranges::find(asked_, key) == asked_.end()) fail(value.line, "unknown key " + name(key));
}

}  // namespace coffer::agents
