#include "workers/gateway/connection.hpp"

#include <cerrno>
#include <vector>

#include <sys/socket.h>

#include "model/limits.hpp"
#include "workers/gateway/failure.hpp"
#include "workers/gateway/special_address.hpp"

namespace coffer::gateway {

namespace {

using std::chrono::seconds;

/// What may be dialled: the administrator's addresses, or those of the provider's name that are on the public internet.
awaitable<std::vector<tcp::endpoint>> endpoints(const Settings& settings) {
  std::vector<tcp::endpoint> found;
  if (!settings.addresses.empty()) {
    for (const auto& address : settings.addresses) {
      error_code error;
      const auto parsed = asio::ip::make_address(address.address, error);
      if (!error) found.emplace_back(parsed, address.port);
    }
    co_return found;
  }
  tcp::resolver resolver(co_await asio::this_coro::executor);
  auto [error, results] =
      co_await resolver.async_resolve(settings.base.host, std::to_string(settings.base.port),
                                      tcp::resolver::numeric_service | tcp::resolver::address_configured, kTuple);
  if (error) co_return found;
  for (const auto& result : results)
    if (isPublicAddress(result.endpoint().address().to_string())) found.push_back(result.endpoint());
  co_return found;
}

bool isAddress(const std::string& host) {
  error_code error;
  static_cast<void>(asio::ip::make_address(host, error));
  return !error;
}

}  // namespace

Connection::Connection(tcp::socket socket, ssl::context* tls) : buffer_(limits::kGatewayHeaderBytes + 64 * 1024) {
  if (tls != nullptr)
    secure_.emplace(beast::tcp_stream(std::move(socket)), *tls);
  else
    plain_.emplace(std::move(socket));
}

awaitable<std::expected<std::shared_ptr<Connection>, std::string_view>> Connection::dial(const Settings& settings,
                                                                                         ssl::context& tls) {
  auto failed = failure::kUnreachable;
  for (const auto& endpoint : co_await endpoints(settings)) {
    beast::tcp_stream stream(co_await asio::this_coro::executor);
    stream.expires_after(seconds(limits::kGatewayConnectSeconds));
    const auto [error] = co_await stream.async_connect(endpoint, kTuple);
    if (error) {
      failed = error == beast::error::timeout ? failure::kTimeout : failure::kUnreachable;
      continue;
    }
    stream.expires_never();
    stream.socket().set_option(tcp::no_delay(true));
    auto connection = std::make_shared<Connection>(stream.release_socket(), settings.base.tls ? &tls : nullptr);
    if (!settings.base.tls) co_return connection;
    failed = co_await connection->handshake(settings.base.host);
    if (failed.empty()) co_return connection;
  }
  co_return std::unexpected(failed);
}

awaitable<std::string_view> Connection::handshake(const std::string& host) {
  // A name is announced (RFC 6066 forbids it for addresses); either is what the certificate must be for.
  // (What SSL_set_tlsext_host_name is, without its casts.)
  if (!isAddress(host) && SSL_ctrl(secure_->native_handle(), SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
                                   const_cast<char*>(host.c_str())) != 1)
    co_return failure::kTls;
  secure_->set_verify_callback(ssl::host_name_verification(host));
  expiresAfter(seconds(limits::kGatewayConnectSeconds));
  const auto [error] = co_await secure_->async_handshake(ssl::stream_base::client, kTuple);
  if (error == beast::error::timeout) co_return failure::kTimeout;
  co_return error ? failure::kTls : std::string_view{};
}

beast::tcp_stream& Connection::lowest() { return plain_ ? *plain_ : secure_->next_layer(); }

void Connection::expiresAfter(seconds time) { lowest().expires_after(time); }

awaitable<error_code> Connection::writeHeader(http::request_serializer<http::buffer_body>& serializer) {
  if (plain_) co_return std::get<0>(co_await http::async_write_header(*plain_, serializer, kTuple));
  co_return std::get<0>(co_await http::async_write_header(*secure_, serializer, kTuple));
}

awaitable<error_code> Connection::write(http::request_serializer<http::buffer_body>& serializer) {
  if (plain_) co_return std::get<0>(co_await http::async_write(*plain_, serializer, kTuple));
  co_return std::get<0>(co_await http::async_write(*secure_, serializer, kTuple));
}

awaitable<error_code> Connection::readHeader(ReplyParser& parser) {
  if (plain_) co_return std::get<0>(co_await http::async_read_header(*plain_, buffer_, parser, kTuple));
  co_return std::get<0>(co_await http::async_read_header(*secure_, buffer_, parser, kTuple));
}

awaitable<error_code> Connection::readSome(ReplyParser& parser) {
  if (plain_) co_return std::get<0>(co_await http::async_read_some(*plain_, buffer_, parser, kTuple));
  co_return std::get<0>(co_await http::async_read_some(*secure_, buffer_, parser, kTuple));
}

bool Connection::usable() {
  if (std::chrono::steady_clock::now() - idleSince > seconds(limits::kGatewayKeepSeconds) || buffer_.size() > 0)
    return false;
  if (secure_ && SSL_pending(secure_->native_handle()) > 0) return false;
  char byte = 0;
  const auto got = ::recv(lowest().socket().native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return got < 0 && errno == EAGAIN;
}

void Connection::close() { lowest().close(); }

}  // namespace coffer::gateway
