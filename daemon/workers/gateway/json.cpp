#include "workers/gateway/json.hpp"

#include <cmath>

namespace coffer::gateway {

namespace {

struct ParserUnref {
  void operator()(JsonParser* parser) const { g_object_unref(parser); }
};
struct GFree {
  void operator()(char* text) const { g_free(text); }
};

std::string write(JsonNode* node) {
  const std::unique_ptr<char, GFree> out(json_to_string(node, FALSE));
  return out ? std::string(out.get()) : std::string();
}

}  // namespace

JsonPtr parseJson(std::string_view text) {
  const std::unique_ptr<JsonParser, ParserUnref> parser(json_parser_new());
  if (text.empty() || !json_parser_load_from_data(parser.get(), text.data(), static_cast<gssize>(text.size()), nullptr))
    return nullptr;
  return JsonPtr(json_parser_steal_root(parser.get()));
}

JsonObject* object(JsonNode* node) {
  return node != nullptr && JSON_NODE_HOLDS_OBJECT(node) ? json_node_get_object(node) : nullptr;
}

JsonObject* member(JsonObject* parent, const char* name) {
  return parent == nullptr ? nullptr : object(json_object_get_member(parent, name));
}

std::string text(JsonObject* parent, const char* name) {
  JsonNode* node = parent == nullptr ? nullptr : json_object_get_member(parent, name);
  if (node == nullptr || !JSON_NODE_HOLDS_VALUE(node) || json_node_get_value_type(node) != G_TYPE_STRING) return {};
  return json_node_get_string(node);
}

std::optional<std::uint64_t> count(JsonObject* parent, const char* name) {
  JsonNode* node = parent == nullptr ? nullptr : json_object_get_member(parent, name);
  if (node == nullptr || !JSON_NODE_HOLDS_VALUE(node)) return std::nullopt;
  const auto type = json_node_get_value_type(node);
  if (type == G_TYPE_INT64) {
    const auto value = json_node_get_int(node);
    if (value >= 0) return static_cast<std::uint64_t>(value);
  } else if (type == G_TYPE_DOUBLE) {
    const auto value = json_node_get_double(node);
    if (value >= 0 && value < 1e15) return static_cast<std::uint64_t>(std::llround(value));
  }
  return std::nullopt;
}

std::string errorBody(std::string_view type, std::string_view message) {
  JsonObject* error = json_object_new();
  json_object_set_string_member(error, "type", std::string(type).c_str());
  json_object_set_string_member(error, "code", std::string(type).c_str());
  json_object_set_string_member(error, "message", std::string(message).c_str());
  JsonObject* top = json_object_new();
  json_object_set_string_member(top, "type", "error");
  json_object_set_object_member(top, "error", error);
  const JsonPtr root(json_node_new(JSON_NODE_OBJECT));
  json_node_take_object(root.get(), top);
  return write(root.get());
}

std::optional<std::string> withUsage(std::string_view chatRequest) {
  const auto root = parseJson(chatRequest);
  JsonObject* top = object(root.get());
  if (top == nullptr || !json_object_get_boolean_member_with_default(top, "stream", FALSE)) return std::nullopt;
  JsonObject* options = member(top, "stream_options");
  if (options != nullptr && json_object_get_boolean_member_with_default(options, "include_usage", FALSE))
    return std::nullopt;
  if (options == nullptr) {
    options = json_object_new();
    json_object_set_object_member(top, "stream_options", options);
  }
  json_object_set_boolean_member(options, "include_usage", TRUE);
  return write(root.get());
}

}  // namespace coffer::gateway
