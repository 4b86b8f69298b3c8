#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "workers/gateway/beast.hpp"
#include "workers/gateway/meter.hpp"
#include "workers/gateway/route.hpp"
#include "workers/gateway/server.hpp"
#include "workers/gateway/usage.hpp"

namespace coffer::gateway {

/// One connection of an agent: requests one after the other, each refused with a reason or carried to the provider and
/// back.
class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(Server& server, tcp::socket socket);

  awaitable<void> run();
  /// Ends it from outside: whatever it waits for fails.
  void cut();

 private:
  using RequestParser = http::request_parser<http::buffer_body>;

  /// One request on its way to the provider and back.
  struct Exchange {
    Route route;
    RequestParser& parser;
    RequestUsage usage;
    std::shared_ptr<Connection> connection;
    std::uint64_t sentBytes = 0;      ///< of the request's body
    std::uint64_t receivedBytes = 0;  ///< of the reply's body
    bool whole = false;               ///< the reply arrived to its end
    bool answered = false;            ///< the agent was sent a status
    bool keep = false;                ///< the agent's connection can take another request
    std::unique_ptr<Meter> meter;
  };

  awaitable<bool> readHead(RequestParser& parser);
  awaitable<bool> handle(RequestParser& parser);
  std::expected<Route, Refusal> judge(const RequestParser& parser) const;
  awaitable<bool> forward(Exchange& exchange);
  awaitable<std::string_view> upload(Exchange& exchange);
  awaitable<std::string_view> uploadStreaming(Exchange& exchange);
  awaitable<std::string_view> uploadWhole(Exchange& exchange);
  awaitable<void> download(Exchange& exchange);
  awaitable<std::string_view> relayReply(Exchange& exchange);
  /// The reply's last byte is here: what it says about the request holds, whatever the agent does now.
  void complete(Exchange& exchange, const ReplyParser& reply, std::string_view errorText);
  awaitable<void> watch(Exchange& exchange);
  void settle(Exchange& exchange);

  [[nodiscard]] RequestHead headFor(const Exchange& exchange) const;
  /// Reads the next piece of the request's body into `piece_`; 0 at its end.
  awaitable<std::expected<std::size_t, std::string_view>> readPiece(RequestParser& parser);
  awaitable<bool> drain(RequestParser& parser);
  awaitable<bool> answer(const Refusal& refusal, bool keep);

  Server& server_;
  beast::tcp_stream client_;
  beast::flat_buffer buffer_;
  std::string piece_;
  std::shared_ptr<Connection> open_;  ///< the connection of the request under way
};

}  // namespace coffer::gateway
