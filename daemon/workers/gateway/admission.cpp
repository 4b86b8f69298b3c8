#include "workers/gateway/admission.hpp"

#include "workers/gateway/key.hpp"
#include "workers/gateway/server.hpp"

namespace coffer::gateway {

std::expected<Route, Refusal> admit(const RequestParser& parser, const Server& server) {
  const auto& head = parser.get();
  if (head.version() != 11)
    return std::unexpected(Refusal{505, "version_not_supported", "Only HTTP/1.1 is spoken here."});
  // A request that names another host was meant for somewhere else: a proxy's, or a name that was made to point here.
  const auto target = std::string_view(head.target());
  if (head.method() == http::verb::connect || !target.starts_with('/'))
    return route(std::string_view(head.method_string()), target, false, server.settings);
  if (head.count(http::field::host) != 1 || !isOurHost(head[http::field::host], server.port))
    return std::unexpected(Refusal{
        421, "wrong_host", "This is the model gateway of a Cofferdam sandbox; the Host header names another host."});
  // What is neither counted nor exactly chunked has no end that two readers must agree on.
  if (head.count(http::field::transfer_encoding) > 0 &&
      (head.count(http::field::transfer_encoding) > 1 ||
       !beast::iequals(head[http::field::transfer_encoding], "chunked")))
    return std::unexpected(Refusal{400, "bad_request", "The only transfer encoding spoken here is chunked."});
  auto found = route(std::string_view(head.method_string()), target, parser.upgrade(), server.settings);
  if (!found) return found;

  bool authorized = false;
  for (const auto& field : head) {
    auto value = std::string_view(field.value());
    if (field.name() == http::field::authorization) {
      if (value.size() < 7 || !beast::iequals(value.substr(0, 7), "Bearer "))
        value = {};
      else
        value.remove_prefix(7);
    } else if (!beast::iequals(field.name_string(), "x-api-key")) {
      continue;
    }
    if (!sameKey(value, server.settings.dummyKey)) {
      authorized = false;
      break;
    }
    authorized = true;
  }
  if (!authorized)
    return std::unexpected(Refusal{401, "authentication_error", "The key is not the one this sandbox was given."});
  if (!head[http::field::content_encoding].empty())
    return std::unexpected(Refusal{415, "encoding_not_supported", "Compressed request bodies are not taken here."});
  // Also what costs no tokens goes out with the real key, and is written down.
  if (server.usage.full())
    return std::unexpected(
        Refusal{429, "insufficient_quota", "This run has made as many model requests as one run may make."});
  if (found->generates && server.settings.budget && !parser.content_length())
    return std::unexpected(
        Refusal{411, "length_required", "A run with a token budget must say how long a request's body is."});
  return found;
}

}  // namespace coffer::gateway
