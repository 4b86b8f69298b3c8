#pragma once

#include <list>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "workers/gateway/beast.hpp"
#include "workers/gateway/connection.hpp"
#include "workers/gateway/settings.hpp"
#include "workers/gateway/usage.hpp"

namespace coffer::gateway {

class Session;

/// What the sessions of one run share: settings, keys, the usage file, idle connections to the provider.
class Server {
 public:
  Server(asio::io_context& context, Settings settings, std::string key, UsageFile usage);

  /// Accepts on a listener that somebody else bound, until stop().
  awaitable<void> serve(tcp::acceptor acceptor);
  /// Takes no more, cuts what is open, and returns when everything is recorded or its time is over.
  awaitable<void> stop();

  /// An idle connection that still works, or a new one.
  awaitable<std::expected<std::shared_ptr<Connection>, std::string_view>> acquire();
  /// Gives back a connection whose reply was read to its end.
  void release(std::shared_ptr<Connection> connection);

  /// The run cannot be accounted for any more: ends the process's service with a fault.
  void fail(const Error& error);
  [[nodiscard]] bool failed() const { return failed_; }
  [[nodiscard]] bool stopping() const { return stopping_; }

  const Settings settings;
  const std::string key;
  UsageFile usage;
  std::uint16_t port = 0;

 private:
  asio::io_context& context_;
  ssl::context tls_;
  std::optional<tcp::acceptor> acceptor_;
  std::set<Session*> sessions_;
  std::vector<std::shared_ptr<Connection>> idle_;
  asio::steady_timer changed_;  ///< cancelled whenever a session ends
  bool stopping_ = false;
  bool failed_ = false;
};

}  // namespace coffer::gateway
