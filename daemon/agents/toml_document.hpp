#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

namespace coffer::agents {

struct TomlMember;

/// A TOML document as plain data, each value with the line it stands on. The only place that sees the TOML library is
/// toml_document.cpp; everything else reads this.
struct TomlNode {
  enum class Kind { Table, Array, Text, Integer, Boolean, Other };

  Kind kind = Kind::Table;
  std::uint32_t line = 0;  ///< counted from 1; 0 when the library does not know it
  std::string text;        ///< Text
  std::int64_t integer = 0;
  bool boolean = false;
  std::vector<TomlNode> items;      ///< Array, in order
  std::vector<TomlMember> members;  ///< Table, sorted by line and so in the order of the file

  [[nodiscard]] const TomlNode* find(std::string_view key) const;
};

/// A key of a table and what stands there.
struct TomlMember {
  std::string key;
  TomlNode value;
};

/// Parses a whole document. The error is one sentence that begins with `FILE:LINE: `; `file` is only used in it.
std::expected<TomlNode, std::string> parseToml(std::string_view text, std::string_view file);

}  // namespace coffer::agents
