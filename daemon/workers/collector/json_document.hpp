#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

struct _JsonNode;
struct _JsonParser;

namespace coffer::collector {

/// One place in a JSON document. Valid as long as its document.
class JsonPlace {
 public:
  JsonPlace() = default;
  explicit JsonPlace(_JsonNode* node) : node_(node) {}

  [[nodiscard]] explicit operator bool() const { return node_ != nullptr; }
  [[nodiscard]] bool isObject() const;
  [[nodiscard]] bool isArray() const;
  /// Where a JSON pointer (RFC 6901) leads from here; none when there is nothing.
  [[nodiscard]] JsonPlace at(std::string_view pointer) const;
  /// Members of an array; empty for anything else.
  [[nodiscard]] std::vector<JsonPlace> items() const;
  /// The string here, if it is one.
  [[nodiscard]] std::optional<std::string> string() const;
  /// A string as it is, true, false, null and numbers as JSON writes them; nothing for objects and arrays.
  [[nodiscard]] std::optional<std::string> scalar() const;
  /// Whatever is here as text: a scalar, an array of `{"text": ...}` joined, anything else as compact JSON.
  [[nodiscard]] std::string text() const;
  /// A whole number that is not negative and below 2^53.
  [[nodiscard]] std::optional<std::uint64_t> count() const;

 private:
  _JsonNode* node_ = nullptr;
};

/// A parsed JSON text. The only place that sees the JSON library is json_document.cpp.
class JsonDocument {
 public:
  /// Strict JSON in UTF-8. The error is a sentence.
  static std::expected<JsonDocument, std::string> parse(std::string_view text);
  [[nodiscard]] JsonPlace root() const;

 private:
  struct Unref {
    void operator()(_JsonParser* parser) const;
  };
  explicit JsonDocument(_JsonParser* parser) : parser_(parser) {}

  std::unique_ptr<_JsonParser, Unref> parser_;
};

}  // namespace coffer::collector
