#include "workers/collector/json_document.hpp"

#include <charconv>
#include <cmath>

#include <json-glib/json-glib.h>

namespace coffer::collector {
namespace {

constexpr double kExact = 9007199254740992.0;  ///< 2^53: the numbers below it are the same in every JSON reader

/// A reference token with ~1 and ~0 undone.
std::string unescaped(std::string_view token) {
  std::string result;
  for (std::size_t at = 0; at < token.size(); ++at) {
    if (token[at] == '~' && at + 1 < token.size() && (token[at + 1] == '0' || token[at + 1] == '1'))
      result += token[++at] == '0' ? '~' : '/';
    else
      result += token[at];
  }
  return result;
}

}  // namespace

bool JsonPlace::isObject() const { return node_ != nullptr && json_node_get_node_type(node_) == JSON_NODE_OBJECT; }
bool JsonPlace::isArray() const { return node_ != nullptr && json_node_get_node_type(node_) == JSON_NODE_ARRAY; }

JsonPlace JsonPlace::at(std::string_view pointer) const {
  JsonPlace place = *this;
  while (!pointer.empty() && place) {
    if (pointer.front() != '/') return {};
    pointer.remove_prefix(1);
    const auto end = std::min(pointer.find('/'), pointer.size());
    const auto token = unescaped(pointer.substr(0, end));
    pointer.remove_prefix(end);
    if (place.isObject()) {
      place = JsonPlace(json_object_get_member(json_node_get_object(place.node_), token.c_str()));
    } else if (place.isArray()) {
      auto* array = json_node_get_array(place.node_);
      guint index = 0;
      const auto [last, error] = std::from_chars(token.data(), token.data() + token.size(), index);
      if (error != std::errc{} || last != token.data() + token.size() || index >= json_array_get_length(array))
        return {};
      place = JsonPlace(json_array_get_element(array, index));
    } else {
      return {};
    }
  }
  return place;
}

std::vector<JsonPlace> JsonPlace::items() const {
  std::vector<JsonPlace> result;
  if (!isArray()) return result;
  auto* array = json_node_get_array(node_);
  const auto size = json_array_get_length(array);
  result.reserve(size);
  for (guint index = 0; index < size; ++index)
    result.emplace_back(json_array_get_element(array, index));
  return result;
}

std::optional<std::string> JsonPlace::string() const {
  if (node_ == nullptr || json_node_get_node_type(node_) != JSON_NODE_VALUE ||
      json_node_get_value_type(node_) != G_TYPE_STRING)
    return std::nullopt;
  const char* text = json_node_get_string(node_);
  return std::string(text != nullptr ? text : "");
}

std::optional<std::string> JsonPlace::scalar() const {
  if (node_ == nullptr || isObject() || isArray()) return std::nullopt;
  if (auto text = string()) return text;
  if (json_node_get_node_type(node_) == JSON_NODE_NULL) return "null";
  const auto type = json_node_get_value_type(node_);
  if (type == G_TYPE_BOOLEAN) return json_node_get_boolean(node_) != FALSE ? "true" : "false";
  if (type == G_TYPE_INT64) return std::to_string(json_node_get_int(node_));
  return std::to_string(json_node_get_double(node_));
}

std::string JsonPlace::text() const {
  if (node_ == nullptr) return {};
  if (auto value = scalar()) return json_node_get_node_type(node_) == JSON_NODE_NULL ? std::string() : *value;
  if (isArray()) {
    std::string joined;
    bool all = true;
    for (const auto& item : items()) {
      const auto part = item.at("/text").string();
      all = all && part.has_value();
      if (part) joined += (joined.empty() ? "" : "\n") + *part;
    }
    if (all) return joined;
  }
  const std::unique_ptr<char, decltype(&g_free)> json(json_to_string(node_, FALSE), g_free);
  return json ? std::string(json.get()) : std::string();
}

std::optional<std::uint64_t> JsonPlace::count() const {
  if (node_ == nullptr || json_node_get_node_type(node_) != JSON_NODE_VALUE) return std::nullopt;
  const auto type = json_node_get_value_type(node_);
  if (type == G_TYPE_INT64) {
    const auto value = json_node_get_int(node_);
    if (value < 0 || static_cast<double>(value) > kExact) return std::nullopt;
    return static_cast<std::uint64_t>(value);
  }
  if (type != G_TYPE_DOUBLE) return std::nullopt;
  const auto value = json_node_get_double(node_);
  if (!(value >= 0) || value > kExact || std::floor(value) < value) return std::nullopt;
  return static_cast<std::uint64_t>(value);
}

void JsonDocument::Unref::operator()(_JsonParser* parser) const { g_object_unref(parser); }

std::expected<JsonDocument, std::string> JsonDocument::parse(std::string_view text) {
  if (!g_utf8_validate(text.data(), static_cast<gssize>(text.size()), nullptr))
    return std::unexpected("it is not UTF-8 text");
  JsonDocument document(json_parser_new());
  json_parser_set_strict(document.parser_.get(), TRUE);
  GError* error = nullptr;
  if (json_parser_load_from_data(document.parser_.get(), text.data(), static_cast<gssize>(text.size()), &error) ==
      FALSE) {
    std::string message = error != nullptr ? error->message : "it is not JSON";
    g_clear_error(&error);
    return std::unexpected(message);
  }
  if (json_parser_get_root(document.parser_.get()) == nullptr) return std::unexpected("it is empty");
  return document;
}

JsonPlace JsonDocument::root() const { return JsonPlace(json_parser_get_root(parser_.get())); }

}  // namespace coffer::collector
