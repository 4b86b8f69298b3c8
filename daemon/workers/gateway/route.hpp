#pragma once

#include <expected>
#include <string>
#include <string_view>

#include "workers/gateway/protocol.hpp"
#include "workers/gateway/settings.hpp"

namespace coffer::gateway {

/// A request that is answered without the provider: a status, a word for programs, a sentence for people.
struct Refusal {
  unsigned status = 403;
  std::string type;
  std::string message;
};

/// What an agent is told of a request that failed for this reason, a word of failure.hpp.
Refusal refusalOf(std::string_view failure);

/// A request that may go to the provider.
struct Route {
  Protocol protocol = Protocol::Responses;
  bool generates = false;  ///< makes a model speak, so it costs tokens
  std::string path;        ///< as the agent wrote it, without the query
  std::string target;      ///< path and query at the provider
};

/// Only the methods and paths agents need go through; everything else is refused with the reason. Compares whole
/// strings, never decodes or normalises: what is not exactly one of the paths is none of them.
/// @param upgrade the request wants another protocol (WebSocket)
std::expected<Route, Refusal> route(std::string_view method, std::string_view target, bool upgrade,
                                    const Settings& settings);

/// Host is this listener: 127.0.0.1 or localhost with its port (or without one).
bool isOurHost(std::string_view host, std::uint16_t port);

}  // namespace coffer::gateway
