#include "store/payload_json.hpp"

#include <memory>
#include <utility>

#include <json-glib/json-glib.h>

namespace coffer::store {

namespace {

struct Unref {
  void operator()(gpointer object) const noexcept { g_object_unref(object); }
};
struct Free {
  void operator()(gpointer memory) const noexcept { g_free(memory); }
};
struct FreeNode {
  void operator()(JsonNode* node) const noexcept { json_node_unref(node); }
};

}  // namespace

std::string asText(const std::string& bytes) {
  const std::unique_ptr<char, Free> valid(g_utf8_make_valid(bytes.data(), static_cast<gssize>(bytes.size())));
  return valid.get();
}

std::string toJson(const model::Payload& payload) {
  const std::unique_ptr<JsonBuilder, Unref> builder(json_builder_new());
  json_builder_begin_object(builder.get());
  for (const auto& [name, value] : payload) {
    json_builder_set_member_name(builder.get(), name.c_str());
    if (const auto* text = std::get_if<std::string>(&value))
      json_builder_add_string_value(builder.get(), text->c_str());
    else
      json_builder_add_int_value(builder.get(), std::get<std::int64_t>(value));
  }
  json_builder_end_object(builder.get());
  const std::unique_ptr<JsonNode, FreeNode> root(json_builder_get_root(builder.get()));
  const std::unique_ptr<char, Free> text(json_to_string(root.get(), FALSE));
  return text.get();
}

std::expected<model::Payload, Error> fromJson(const std::string& json) {
  const auto broken = [] {
    return std::unexpected(
        Error{ErrorCode::Internal,
              "An event in cofferd's store cannot be read. Restore the store, or look at the journal of cofferd."});
  };
  const std::unique_ptr<JsonParser, Unref> parser(json_parser_new_immutable());
  if (json_parser_load_from_data(parser.get(), json.data(), static_cast<gssize>(json.size()), nullptr) == FALSE)
    return broken();
  JsonNode* root = json_parser_get_root(parser.get());
  if (root == nullptr || json_node_get_node_type(root) != JSON_NODE_OBJECT) return broken();
  model::Payload payload;
  JsonObjectIter iterator;
  json_object_iter_init(&iterator, json_node_get_object(root));
  const char* name = nullptr;
  JsonNode* member = nullptr;
  while (json_object_iter_next(&iterator, &name, &member) != FALSE) {
    if (json_node_get_node_type(member) != JSON_NODE_VALUE) return broken();
    const GType type = json_node_get_value_type(member);
    if (type == G_TYPE_STRING)
      payload.emplace(name, std::string(json_node_get_string(member)));
    else if (type == G_TYPE_INT64)
      payload.emplace(name, std::int64_t{json_node_get_int(member)});
    else
      return broken();
  }
  return payload;
}

}  // namespace coffer::store
