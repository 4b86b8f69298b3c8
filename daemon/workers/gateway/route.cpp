#include "workers/gateway/route.hpp"

#include <algorithm>
#include <optional>

#include "model/limits.hpp"
#include "workers/gateway/failure.hpp"

namespace coffer::gateway {

namespace {

struct Allowed {
  std::string_view method;
  std::string_view path;  ///< after /v1
  std::optional<Protocol> protocol;
  bool generates;
};

constexpr Allowed kAllowed[] = {
    {"POST", "/responses", Protocol::Responses, true}, {"POST", "/chat/completions", Protocol::Chat, true},
    {"POST", "/messages", Protocol::Messages, true},   {"POST", "/messages/count_tokens", Protocol::Messages, false},
    {"GET", "/models", std::nullopt, false},
};

/// The last part of a base URL's path is a version of the interface: "v1", "v4", "v1beta".
bool endsWithVersion(std::string_view path) {
  const auto last = path.substr(path.rfind('/') == std::string_view::npos ? 0 : path.rfind('/') + 1);
  return last.size() > 1 && last[0] == 'v' && last[1] >= '0' && last[1] <= '9';
}

bool isPlainQuery(std::string_view query) {
  return std::ranges::all_of(query, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '=' || c == '&' ||
           c == '.' || c == '_' || c == '-';
  });
}

std::unexpected<Refusal> refuse(unsigned status, std::string type, std::string message) {
  return std::unexpected(Refusal{status, std::move(type), std::move(message)});
}

}  // namespace

std::expected<Route, Refusal> route(std::string_view method, std::string_view target, bool upgrade,
                                    const Settings& settings) {
  if (target.size() > limits::kGatewayTargetBytes)
    return refuse(414, "target_too_long", "The request's path is too long.");
  if (method == "CONNECT" || !target.starts_with('/'))
    return refuse(421, "not_a_proxy",
                  "This is the model gateway of a Cofferdam sandbox, not a proxy: only paths on itself are served.");
  const auto mark = target.find('?');
  const auto path = target.substr(0, mark);
  const auto query = mark == std::string_view::npos ? std::string_view{} : target.substr(mark + 1);

  if (upgrade && method == "GET" && path == "/v1/responses")
    return refuse(426, "websocket_unsupported", "WebSockets are not served here: send the request as an HTTP POST.");

  const auto nowhere = [&] {
    return refuse(
        403, "path_not_allowed",
        "The model gateway of this sandbox serves only the requests that make a model answer; this method and path "
        "are not among them.");
  };
  if (!path.starts_with("/v1/") || upgrade || !isPlainQuery(query)) return nowhere();
  const auto rest = path.substr(3);
  for (const auto& allowed : kAllowed) {
    if (allowed.path != rest || allowed.method != method) continue;
    if (allowed.protocol && !settings.protocols.contains(*allowed.protocol))
      return refuse(403, "protocol_not_allowed",
                    "This run's provider does not speak " + std::string(protocolName(*allowed.protocol)) + ".");
    if (!query.empty() && rest != "/models" && query != "beta=true") return nowhere();
    Route found;
    found.protocol = allowed.protocol.value_or(*settings.protocols.begin());
    found.generates = allowed.generates;
    found.path = path;
    found.target = settings.base.path;
    if (!endsWithVersion(found.target)) found.target += "/v1";
    found.target += rest;
    if (!query.empty()) found.target.append("?").append(query);
    return found;
  }
  return nowhere();
}

bool isOurHost(std::string_view host, std::uint16_t port) {
  for (const std::string_view name : {"127.0.0.1", "localhost"}) {
    if (host == name || host == std::string(name) + ":" + std::to_string(port)) return true;
  }
  return false;
}

Refusal refusalOf(std::string_view why) {
  if (why == failure::kTls)
    return {502, "provider_tls", "The provider's certificate is not good for its name, so nothing was sent to it."};
  if (why == failure::kTimeout) return {504, "provider_timeout", "The provider did not answer in time."};
  if (why == failure::kRedirect)
    return {502, "provider_redirect",
            "The provider answered with a redirect, which the model gateway does not follow."};
  if (why == failure::kUnreachable)
    return {502, "provider_unreachable", "The provider cannot be reached: no address that may be dialled answered."};
  if (why == failure::kBody) return {413, "body_too_large", "The request's body is longer than the gateway takes."};
  return {502, "provider_cut", "The provider closed the connection before it answered."};
}

}  // namespace coffer::gateway
