#include "json_output.hpp"

#include <algorithm>
#include <format>
#include <limits>
#include <utility>

#include <json-glib/json-glib.h>
#include <sdbus-c++/Message.h>

namespace coffer::cli {

namespace {

struct FreeNode {
  void operator()(JsonNode* node) const { json_node_unref(node); }
};
using Node = std::unique_ptr<JsonNode, FreeNode>;

struct Unref {
  void operator()(void* object) const { g_object_unref(object); }
};

Node newNode(JsonNodeType type) { return Node(json_node_new(type)); }

Node textNode(const std::string& text) {
  auto node = newNode(JSON_NODE_VALUE);
  json_node_set_string(node.get(), text.c_str());
  return node;
}

Node numberNode(std::int64_t number) {
  auto node = newNode(JSON_NODE_VALUE);
  json_node_set_int(node.get(), number);
  return node;
}

Node realNode(double number) {
  auto node = newNode(JSON_NODE_VALUE);
  json_node_set_double(node.get(), number);
  return node;
}

Node boolNode(bool value) {
  auto node = newNode(JSON_NODE_VALUE);
  json_node_set_boolean(node.get(), value);
  return node;
}

Node numberNode(std::uint64_t number) {
  if (std::cmp_greater(number, std::numeric_limits<std::int64_t>::max())) return realNode(static_cast<double>(number));
  return numberNode(static_cast<std::int64_t>(number));
}

template <typename T>
T read(sdbus::Message& message) {
  T value{};
  message >> value;
  return value;
}

Node bytesNode(const std::vector<std::uint8_t>& bytes) {
  const std::string text(bytes.begin(), bytes.end());
  // g_utf8_validate() also refuses zero bytes, which a JSON string could not give back here.
  if (g_utf8_validate(text.data(), static_cast<gssize>(text.size()), nullptr)) return textNode(text);
  JsonArray* array = json_array_sized_new(static_cast<guint>(bytes.size()));
  for (const auto byte : bytes)
    json_array_add_int_element(array, byte);
  auto node = newNode(JSON_NODE_ARRAY);
  json_node_take_array(node.get(), array);
  return node;
}

Node valueNode(sdbus::Message& message);

/// A key of a dictionary as JSON wants it, which has only text there.
std::string keyText(sdbus::Message& message) {
  switch (message.peekType().first) {
    case 's':
      return read<std::string>(message);
    case 'o':
      return read<sdbus::ObjectPath>(message);
    case 'y':
      return std::to_string(read<std::uint8_t>(message));
    case 'n':
      return std::to_string(read<std::int16_t>(message));
    case 'q':
      return std::to_string(read<std::uint16_t>(message));
    case 'i':
      return std::to_string(read<std::int32_t>(message));
    case 'u':
      return std::to_string(read<std::uint32_t>(message));
    case 'x':
      return std::to_string(read<std::int64_t>(message));
    case 't':
      return std::to_string(read<std::uint64_t>(message));
    default:
      return {};
  }
}

Node dictionaryNode(sdbus::Message& message, const std::string& entry) {
  const auto inside = entry.substr(1, entry.size() - 2);
  JsonObject* object = json_object_new();
  auto node = newNode(JSON_NODE_OBJECT);
  json_node_take_object(node.get(), object);
  message.enterContainer(entry.c_str());
  while (!message.isAtEnd(false)) {
    message.enterDictEntry(inside.c_str());
    const auto key = keyText(message);
    json_object_set_member(object, key.c_str(), valueNode(message).release());
    message.exitDictEntry();
  }
  message.clearFlags();
  message.exitContainer();
  return node;
}

Node arrayNode(sdbus::Message& message, const std::string& element) {
  JsonArray* array = json_array_new();
  auto node = newNode(JSON_NODE_ARRAY);
  json_node_take_array(node.get(), array);
  message.enterContainer(element.c_str());
  while (!message.isAtEnd(false))
    json_array_add_element(array, valueNode(message).release());
  message.clearFlags();
  message.exitContainer();
  return node;
}

Node structNode(sdbus::Message& message, const std::string& members) {
  JsonArray* array = json_array_new();
  auto node = newNode(JSON_NODE_ARRAY);
  json_node_take_array(node.get(), array);
  message.enterStruct(members.c_str());
  while (!message.isAtEnd(false))
    json_array_add_element(array, valueNode(message).release());
  message.exitStruct();
  return node;
}

Node valueNode(sdbus::Message& message) {
  const auto [type, pointer] = message.peekType();
  const std::string contents = pointer ? pointer : "";
  switch (type) {
    case 's':
      return textNode(read<std::string>(message));
    case 'o':
      return textNode(read<sdbus::ObjectPath>(message));
    case 'g':
      return textNode(read<sdbus::Signature>(message));
    case 'b':
      return boolNode(read<bool>(message));
    case 'y':
      return numberNode(std::int64_t{read<std::uint8_t>(message)});
    case 'n':
      return numberNode(std::int64_t{read<std::int16_t>(message)});
    case 'q':
      return numberNode(std::int64_t{read<std::uint16_t>(message)});
    case 'i':
      return numberNode(std::int64_t{read<std::int32_t>(message)});
    case 'u':
      return numberNode(std::int64_t{read<std::uint32_t>(message)});
    case 'x':
      return numberNode(read<std::int64_t>(message));
    case 't':
      return numberNode(read<std::uint64_t>(message));
    case 'd':
      return realNode(read<double>(message));
    case 'a':
      if (contents == "y") return bytesNode(read<std::vector<std::uint8_t>>(message));
      return contents.starts_with('{') ? dictionaryNode(message, contents) : arrayNode(message, contents);
    case 'r':
      return structNode(message, contents);
    case 'v': {
      message.enterVariant(contents.c_str());
      auto node = valueNode(message);
      message.exitVariant();
      return node;
    }
    default:
      return newNode(JSON_NODE_NULL);
  }
}

Node variantNode(const sdbus::Variant& value) {
  if (value.isEmpty()) return newNode(JSON_NODE_NULL);
  auto message = sdbus::createPlainMessage();
  value.serializeTo(message);
  message.seal();
  message.rewind(true);
  return valueNode(message);
}

/// JSON that may be looked at: what would turn or hide text on a terminal is written as an escape, which means the
/// same.
std::string escaped(std::string_view json) {
  std::string result;
  result.reserve(json.size());
  while (!json.empty()) {
    const gunichar character = g_utf8_get_char_validated(json.data(), static_cast<gssize>(json.size()));
    const auto length = std::min(json.size(), static_cast<std::size_t>(g_unichar_to_utf8(character, nullptr)));
    const auto type = g_unichar_type(character);
    const bool hidden = type == G_UNICODE_FORMAT || type == G_UNICODE_LINE_SEPARATOR ||
                        type == G_UNICODE_PARAGRAPH_SEPARATOR || (type == G_UNICODE_CONTROL && character > 0x7e);
    if (!hidden) {
      result += json.substr(0, length);
    } else if (character < 0x10000) {
      result += std::format("\\u{:04x}", character);
    } else {
      const gunichar rest = character - 0x10000;
      result += std::format("\\u{:04x}\\u{:04x}", 0xd800 + (rest >> 10), 0xdc00 + (rest & 0x3ff));
    }
    json.remove_prefix(length);
  }
  return result;
}

}  // namespace

void Json::Free::operator()(_JsonObject* object) const { json_object_unref(object); }

Json::Json() : object_(json_object_new()) {}

Json& Json::add(std::string_view name, std::string_view text) {
  // A path that somebody typed need not be text, and what is no text is no JSON.
  const std::unique_ptr<char, decltype(&g_free)> valid(g_utf8_make_valid(text.data(), static_cast<gssize>(text.size())),
                                                       g_free);
  json_object_set_string_member(object_.get(), std::string(name).c_str(), valid.get());
  return *this;
}

Json& Json::add(std::string_view name, std::uint64_t number) {
  json_object_set_member(object_.get(), std::string(name).c_str(), numberNode(number).release());
  return *this;
}

Json& Json::add(std::string_view name, bool value) {
  json_object_set_boolean_member(object_.get(), std::string(name).c_str(), value);
  return *this;
}

Json& Json::add(std::string_view name, const sdbus::Variant& value) {
  json_object_set_member(object_.get(), std::string(name).c_str(), variantNode(value).release());
  return *this;
}

Json& Json::add(std::string_view name, Json value) {
  json_object_set_object_member(object_.get(), std::string(name).c_str(), value.object_.release());
  return *this;
}

Json& Json::add(std::string_view name, std::vector<Json> values) {
  JsonArray* array = json_array_new();
  for (auto& value : values)
    json_array_add_object_element(array, value.object_.release());
  json_object_set_array_member(object_.get(), std::string(name).c_str(), array);
  return *this;
}

Json& Json::add(std::string_view name, const std::vector<std::string>& values) {
  JsonArray* array = json_array_new();
  for (const auto& value : values)
    json_array_add_string_element(array, value.c_str());
  json_object_set_array_member(object_.get(), std::string(name).c_str(), array);
  return *this;
}

Json& Json::addAll(const Dictionary& values) {
  for (const auto& [name, value] : values)
    add(name, value);
  return *this;
}

Json Json::of(const Dictionary& values) {
  Json result;
  result.addAll(values);
  return result;
}

std::vector<Json> Json::of(const std::vector<Dictionary>& values) {
  std::vector<Json> result;
  result.reserve(values.size());
  for (const auto& value : values)
    result.push_back(of(value));
  return result;
}

std::string Json::text() const {
  auto node = newNode(JSON_NODE_OBJECT);
  json_node_set_object(node.get(), object_.get());
  const std::unique_ptr<JsonGenerator, Unref> generator(json_generator_new());
  json_generator_set_pretty(generator.get(), TRUE);
  json_generator_set_indent(generator.get(), 2);
  json_generator_set_root(generator.get(), node.get());
  const std::unique_ptr<char, decltype(&g_free)> text(json_generator_to_data(generator.get(), nullptr), g_free);
  return escaped(text.get()) + "\n";
}

}  // namespace coffer::cli
