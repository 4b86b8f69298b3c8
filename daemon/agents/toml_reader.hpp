#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agents/toml_document.hpp"

namespace coffer::agents {

/// Reads one table strictly: every key is asked for by name and kind, and a key that nobody asked for is a fault. All
/// readers of one file share the fault, and the first one stays: a person mends a file from the top.
class TomlReader {
 public:
  struct Fault {
    std::string file;
    std::string text;  ///< empty, or one sentence that begins with `FILE:LINE: `

    explicit operator bool() const { return !text.empty(); }
  };

  /// Both must outlive the reader. `where` is the table's name in messages, empty for the whole file.
  TomlReader(const TomlNode& table, std::string where, Fault& fault);

  [[nodiscard]] bool has(std::string_view key) const { return table_->find(key) != nullptr; }
  [[nodiscard]] std::uint32_t line() const { return table_->line; }
  /// The line of a key, or of the table when the key is absent.
  [[nodiscard]] std::uint32_t line(std::string_view key) const;

  /// Text under the key; absent and required is a fault. The reading functions return an empty value after a fault.
  std::string text(std::string_view key);
  std::string text(std::string_view key, std::string_view otherwise);
  bool boolean(std::string_view key, bool otherwise);
  std::int64_t integer(std::string_view key, std::int64_t otherwise, std::int64_t least, std::int64_t most);
  /// A list of texts; absent is empty.
  std::vector<std::string> texts(std::string_view key);
  /// One of the words; absent and no `otherwise` is a fault.
  std::string word(std::string_view key, const std::vector<std::string_view>& words,
                   std::optional<std::string_view> otherwise = std::nullopt);
  /// The members of a sub-table, to be read by one's own rules (keys are free); absent is empty.
  std::vector<std::pair<std::string, const TomlNode*>> members(std::string_view key);
  /// A sub-table to be read strictly; absent gives an empty table.
  TomlReader table(std::string_view key);
  /// Every table of an array of tables, in order.
  std::vector<TomlReader> tables(std::string_view key);

  /// Notes a fault at a line of this file unless there is one already.
  void fail(std::uint32_t line, std::string_view message);
  /// Call last: a key of this table that was not asked for is a fault.
  void finish();

 private:
  const TomlNode* take(std::string_view key, TomlNode::Kind kind, std::string_view kindName);
  [[nodiscard]] std::string name(std::string_view key) const;

  const TomlNode* table_;
  std::string where_;
  Fault* fault_;
  std::vector<std::string> asked_;
};

}  // namespace coffer::agents
