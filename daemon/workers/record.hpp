#pragma once

#include <charconv>
#include <cstddef>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "model/limits.hpp"

namespace coffer {

/// One thing said between cofferd and a worker. The value is bytes; nothing in it is escaped or interpreted.
struct Record {
  std::string key;
  std::string value;
};

/// What cofferd and a worker say to each other: a sequence of `KEY SP LENGTH LF BYTES LF`. The format has a length
/// before every value, so that the reader, which is privileged on cofferd's side, decides nothing by looking at bytes
/// an agent wrote. Keys are [a-z0-9.-]{1,64} and may repeat; order is kept.
class Records {
 public:
  void add(std::string_view key, std::string_view value) { records_.push_back({std::string(key), std::string(value)}); }
  void add(std::string_view key, std::uint64_t value) { add(key, std::string_view(std::to_string(value))); }

  /// The first value under the key, or the empty view. The view lives as long as this object is not changed.
  [[nodiscard]] std::string_view get(std::string_view key) const {
    for (const auto& record : records_)
      if (record.key == key) return record.value;
    return {};
  }
  [[nodiscard]] bool has(std::string_view key) const {
    for (const auto& record : records_)
      if (record.key == key) return true;
    return false;
  }
  [[nodiscard]] std::vector<std::string_view> all(std::string_view key) const {
    std::vector<std::string_view> values;
    for (const auto& record : records_)
      if (record.key == key) values.push_back(record.value);
    return values;
  }
  /// The first value under the key as a number; `otherwise` when there is none or it is not a plain decimal.
  [[nodiscard]] std::uint64_t number(std::string_view key, std::uint64_t otherwise = 0) const {
    return decimal(get(key), otherwise);
  }
  /// A value that stands alone, by the same rule.
  [[nodiscard]] static std::uint64_t decimal(std::string_view text, std::uint64_t otherwise = 0) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return !text.empty() && error == std::errc{} && end == text.data() + text.size() ? value : otherwise;
  }
  [[nodiscard]] const std::vector<Record>& list() const { return records_; }

  [[nodiscard]] std::string serialize() const {
    std::string out;
    for (const auto& record : records_) {
      out += record.key;
      out += ' ';
      out += std::to_string(record.value.size());
      out += '\n';
      out += record.value;
      out += '\n';
    }
    return out;
  }

  /// Total parser: anything not exactly of the format, or over the limits, is a refusal that says where.
  static std::expected<Records, std::string> parse(std::string_view text) {
    if (text.size() > limits::kReportBytes) return std::unexpected("records: longer than the limit");
    Records result;
    std::size_t at = 0;
    while (at < text.size()) {
      const auto fault = [&](const char* what) {
        return std::unexpected("records: " + std::string(what) + " at byte " + std::to_string(at));
      };
      if (result.records_.size() == limits::kReportRecords) return fault("more records than the limit");
      const auto space = text.find(' ', at);
      if (space == std::string_view::npos || space - at > 64 || space == at) return fault("no key");
      const auto key = text.substr(at, space - at);
      for (const char c : key)
        if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.')) return fault("bad key");
      std::size_t size = 0;
      const char* first = text.data() + space + 1;
      const char* last = text.data() + text.size();
      const auto [end, error] = std::from_chars(first, last, size);
      if (error != std::errc{} || end == first || end == last || *end != '\n') return fault("no length");
      const auto begin = static_cast<std::size_t>(end - text.data()) + 1;
      if (size > text.size() - begin || begin + size == text.size() || text[begin + size] != '\n')
        return fault("value cut short");
      result.records_.push_back({std::string(key), std::string(text.substr(begin, size))});
      at = begin + size + 1;
    }
    return result;
  }

 private:
  std::vector<Record> records_;
};

}  // namespace coffer
