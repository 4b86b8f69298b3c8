#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <json-glib/json-glib.h>

namespace coffer::gateway {

struct NodeUnref {
  void operator()(JsonNode* node) const { json_node_unref(node); }
};
using JsonPtr = std::unique_ptr<JsonNode, NodeUnref>;

/// The JSON text, or null when it is none.
JsonPtr parseJson(std::string_view text);

/// The object's member when it is an object; else null. Null in, null out, so that paths can be chained.
JsonObject* member(JsonObject* object, const char* name);

/// The node when it is an object.
JsonObject* object(JsonNode* node);

/// The object's member when it is text; else empty.
std::string text(JsonObject* object, const char* name);

/// The object's member when it is a number that is not negative.
std::optional<std::uint64_t> count(JsonObject* object, const char* name);

/// The body of an answer of ours that says what and why, in a shape that clients of all three protocols read.
std::string errorBody(std::string_view type, std::string_view message);

/// Asks for token counts in a streamed chat request that does not ask itself; nothing when it need not be changed.
std::optional<std::string> withUsage(std::string_view chatRequest);

}  // namespace coffer::gateway
