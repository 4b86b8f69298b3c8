#include "workers/gateway/relayed_headers.hpp"

#include <algorithm>
#include <array>

namespace coffer::gateway {

bool staysHere(std::string_view name) {
  static constexpr auto kNames =
      std::to_array<std::string_view>({"connection", "keep-alive",      "proxy-connection",
                                       "te",         "trailer",         "transfer-encoding",
                                       "upgrade",    "content-length",  "host",
                                       "expect",     "authorization",   "proxy-authorization",
                                       "x-api-key",  "api-key",         "x-goog-api-key",
                                       "cookie",     "accept-encoding", "forwarded",
                                       "via",        "http2-settings"});
  return std::ranges::any_of(kNames, [name](std::string_view one) { return beast::iequals(name, one); }) ||
         (name.size() > 12 && beast::iequals(name.substr(0, 12), "x-forwarded-")) ||
         (name.size() > 6 && beast::iequals(name.substr(0, 6), "proxy-"));
}

bool staysThere(std::string_view name) {
  static constexpr auto kNames = std::to_array<std::string_view>(
      {"connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
       "content-length", "proxy-authenticate", "set-cookie", "alt-svc", "strict-transport-security", "location"});
  return std::ranges::any_of(kNames, [name](std::string_view one) { return beast::iequals(name, one); });
}

}  // namespace coffer::gateway
