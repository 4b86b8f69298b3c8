#pragma once

#include <string_view>

#include "workers/gateway/beast.hpp"

namespace coffer::gateway {

/// Headers of a request that belong to one connection (RFC 9110, 7.6.1), say who and where the agent is, carry a key,
/// or ask for a form of the reply in which tokens cannot be counted: none of them goes to the provider.
bool staysHere(std::string_view name);

/// The same for a reply: what would make the agent's side keep or change something for this address is not passed on.
bool staysThere(std::string_view name);

/// Whether the Connection header makes this one belong to the connection too.
template <typename Fields>
bool namedByConnection(const Fields& fields, std::string_view name) {
  return http::token_list(fields[http::field::connection]).exists(name);
}

}  // namespace coffer::gateway
