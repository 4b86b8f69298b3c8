#pragma once

#include <optional>
#include <string_view>

namespace coffer::gateway {

/// The wire protocols between an agent and a model.
enum class Protocol { Responses, Chat, Messages };

/// Names as in provider kinds and in the gateway's request.
constexpr std::string_view protocolName(Protocol protocol) {
  switch (protocol) {
    case Protocol::Responses:
      return "openai-responses";
    case Protocol::Chat:
      return "openai-chat";
    case Protocol::Messages:
      return "anthropic";
  }
  return {};
}

constexpr std::optional<Protocol> protocolOf(std::string_view name) {
  for (const auto protocol : {Protocol::Responses, Protocol::Chat, Protocol::Messages})
    if (protocolName(protocol) == name) return protocol;
  return std::nullopt;
}

}  // namespace coffer::gateway
