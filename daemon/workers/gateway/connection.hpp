#pragma once

#include <chrono>
#include <expected>
#include <memory>
#include <optional>
#include <string_view>

#include "workers/gateway/beast.hpp"
#include "workers/gateway/settings.hpp"

namespace coffer::gateway {

using RequestHead = http::request<http::buffer_body>;
using ReplyParser = http::response_parser<http::buffer_body>;

/// One connection to the provider, with TLS or without. Every wait on it ends: by the deadline set before, or by
/// close().
class Connection {
 public:
  /// Looks the provider's name up (unless an administrator named addresses), dials what may be dialled, in order, and
  /// shakes hands. The certificate must be good for the base URL's host name, whatever the address.
  /// @return a connection, or a word of failure.hpp
  static awaitable<std::expected<std::shared_ptr<Connection>, std::string_view>> dial(const Settings& settings,
                                                                                      ssl::context& tls);

  Connection(tcp::socket socket, ssl::context* tls);

  void expiresAfter(std::chrono::seconds time);
  awaitable<error_code> writeHeader(http::request_serializer<http::buffer_body>& serializer);
  awaitable<error_code> write(http::request_serializer<http::buffer_body>& serializer);
  awaitable<error_code> readHeader(ReplyParser& parser);
  /// The next bytes of the reply's body, as soon as there are some.
  awaitable<error_code> readSome(ReplyParser& parser);

  /// Whether it can take another request: nobody closed it, nothing unasked came.
  bool usable();
  void close();

  std::chrono::steady_clock::time_point idleSince;

 private:
  using Plain = beast::tcp_stream;
  using Secure = ssl::stream<beast::tcp_stream>;

  awaitable<std::string_view> handshake(const std::string& host);
  beast::tcp_stream& lowest();

  std::optional<Plain> plain_;
  std::optional<Secure> secure_;
  beast::flat_buffer buffer_;
};

}  // namespace coffer::gateway
