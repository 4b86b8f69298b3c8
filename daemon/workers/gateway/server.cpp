#include "workers/gateway/server.hpp"

#include <algorithm>
#include <cstdio>

#include "model/limits.hpp"
#include "workers/gateway/session.hpp"

namespace coffer::gateway {

using namespace std::chrono_literals;

Server::Server(asio::io_context& context, Settings settingsOfRun, std::string realKey, UsageFile usageFile)
    : settings(std::move(settingsOfRun)),
      key(std::move(realKey)),
      usage(std::move(usageFile)),
      context_(context),
      tls_(ssl::context::tls_client),
      changed_(context) {
  tls_.set_default_verify_paths();  // honours SSL_CERT_FILE and SSL_CERT_DIR
  tls_.set_verify_mode(ssl::verify_peer);
  SSL_CTX_set_min_proto_version(tls_.native_handle(), TLS1_2_VERSION);
  static constexpr unsigned char kHttp11[] = "\x08http/1.1";
  SSL_CTX_set_alpn_protos(tls_.native_handle(), kHttp11, sizeof(kHttp11) - 1);
}

awaitable<void> Server::serve(tcp::acceptor acceptor) {
  port = acceptor.local_endpoint().port();
  acceptor_.emplace(std::move(acceptor));
  while (!stopping_) {
    if (sessions_.size() >= limits::kGatewayConnections) {
      changed_.expires_at(asio::steady_timer::time_point::max());
      co_await changed_.async_wait(kTuple);
      continue;
    }
    auto [error, socket] = co_await acceptor_->async_accept(context_, kTuple);
    if (stopping_) co_return;
    if (error) {  // out of descriptors, or a client that left at once: neither ends the service
      asio::steady_timer pause(context_, 50ms);
      co_await pause.async_wait(kTuple);
      continue;
    }
    auto session = std::make_shared<Session>(*this, std::move(socket));
    sessions_.insert(session.get());
    asio::co_spawn(context_, session->run(), [this, session](const std::exception_ptr&) {
      sessions_.erase(session.get());
      changed_.cancel();
    });
  }
}

awaitable<void> Server::stop() {
  stopping_ = true;
  error_code ignored;
  if (acceptor_) acceptor_->cancel(ignored);  // the listener stays whose it is
  for (auto* session : sessions_)
    session->cut();
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(limits::kGatewayStopSeconds);
  while (!sessions_.empty() && std::chrono::steady_clock::now() < deadline) {
    changed_.expires_at(deadline);
    co_await changed_.async_wait(kTuple);
  }
}

awaitable<std::expected<std::shared_ptr<Connection>, std::string_view>> Server::acquire() {
  while (!idle_.empty()) {
    auto connection = std::move(idle_.back());
    idle_.pop_back();
    if (connection->usable()) co_return connection;
  }
  co_return co_await Connection::dial(settings, tls_);
}

void Server::release(std::shared_ptr<Connection> connection) {
  connection->idleSince = std::chrono::steady_clock::now();
  if (idle_.size() < limits::kGatewayIdleConnections) idle_.push_back(std::move(connection));
}

void Server::fail(const Error& error) {
  if (failed_) return;
  failed_ = true;
  std::fprintf(stderr, "%s: stopping, because requests cannot be accounted for\n", error.message.c_str());
  asio::co_spawn(context_, stop(), [this](const std::exception_ptr&) { context_.stop(); });
}

}  // namespace coffer::gateway
