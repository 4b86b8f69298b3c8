#pragma once

#include <memory>
#include <optional>

#include "workers/gateway/agent_stream.hpp"
#include "workers/gateway/exchange.hpp"

namespace coffer::gateway {

class Server;

/// One connection of an agent: requests one after the other, each refused with a reason or carried to the provider and
/// back.
class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(Server& server, tcp::socket socket);

  awaitable<void> run();
  /// Ends it from outside: whatever it waits for fails.
  void cut();

 private:
  awaitable<bool> handle(RequestParser& parser);

  Server& server_;
  AgentStream agent_;
  std::optional<Exchange> exchange_;  ///< the request under way
};

}  // namespace coffer::gateway
