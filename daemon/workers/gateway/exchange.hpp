#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "workers/gateway/agent_stream.hpp"
#include "workers/gateway/beast.hpp"
#include "workers/gateway/connection.hpp"
#include "workers/gateway/meter.hpp"
#include "workers/gateway/route.hpp"
#include "workers/gateway/usage.hpp"

namespace coffer::gateway {

class Server;

/// One admitted request on its way to the provider and back, and what it cost.
class Exchange {
 public:
  /// @param number the request's in the usage file, where it began
  Exchange(Server& server, AgentStream& agent, RequestParser& parser, Route route, std::uint64_t number);

  /// Carries it and writes down how it ended.
  /// @return whether the agent's connection can take another request
  awaitable<bool> forward();
  /// Writes down that it was not carried, and why.
  /// @param error a word of failure.hpp
  void refuse(std::string_view error, unsigned status);
  /// Ends it from outside: whatever it waits for at the provider fails.
  void cut();

 private:
  awaitable<std::string_view> upload();
  awaitable<std::string_view> uploadStreaming();
  awaitable<std::string_view> uploadWhole();
  awaitable<void> download();
  awaitable<std::string_view> relayReply();
  /// The reply's last byte is here: what it says about the request holds, whatever the agent does now.
  void complete(const ReplyParser& reply);
  awaitable<void> watch();
  void settle();

  [[nodiscard]] RequestHead headForProvider() const;
  [[nodiscard]] ReplyHead headForAgent(const ReplyParser& reply) const;

  Server& server_;
  AgentStream& agent_;
  RequestParser& parser_;
  const Route route_;
  RequestUsage usage_;
  std::shared_ptr<Connection> connection_;
  std::uint64_t sentBytes_ = 0;      ///< of the request's body
  std::uint64_t receivedBytes_ = 0;  ///< of the reply's body
  bool whole_ = false;               ///< the reply arrived to its end
  bool answered_ = false;            ///< the agent was sent a status
  bool keep_ = false;                ///< the agent's connection can take another request
  std::string errorText_;            ///< the beginning of a refusal's body
  std::unique_ptr<Meter> meter_;
};

}  // namespace coffer::gateway
