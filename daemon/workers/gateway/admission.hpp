#pragma once

#include <expected>
#include <string_view>

#include "workers/gateway/agent_stream.hpp"
#include "workers/gateway/route.hpp"

namespace coffer::gateway {

class Server;

/// Decides by a request's header alone, before anything is dialled, whether the request may go to the provider.
std::expected<Route, Refusal> admit(const RequestParser& parser, const Server& server);

}  // namespace coffer::gateway
