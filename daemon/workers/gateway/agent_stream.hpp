#pragma once

#include <expected>
#include <string>
#include <string_view>

#include "workers/gateway/beast.hpp"
#include "workers/gateway/route.hpp"

namespace coffer::gateway {

using RequestParser = http::request_parser<http::buffer_body>;
using ReplyHead = http::response<http::buffer_body>;

/// The agent's end of a connection. Every wait on it ends: by a deadline of limits.hpp, or by close().
class AgentStream {
 public:
  explicit AgentStream(tcp::socket socket);

  /// @return false when the agent said no more, or a refusal of what cannot be understood: nothing after it can either
  awaitable<std::expected<bool, Refusal>> readHead(RequestParser& parser);
  /// Reads the next piece of the request's body into buffer(); 0 at its end.
  /// @return how many bytes, or a word of failure.hpp
  awaitable<std::expected<std::size_t, std::string_view>> readPiece(RequestParser& parser);
  /// Reads the rest of a body nobody wants; false when it has no end that can be waited for.
  awaitable<bool> drain(RequestParser& parser);

  /// Tells an agent that waits for it to send its body.
  awaitable<error_code> writeContinue();
  awaitable<error_code> writeHeader(http::response_serializer<http::buffer_body>& serializer);
  awaitable<error_code> write(http::response_serializer<http::buffer_body>& serializer);
  /// Answers without the provider.
  /// @return whether the connection can take another request
  awaitable<bool> answer(const Refusal& refusal, bool keep);

  /// Returns when the agent hung up, or when it sent its next request early and only a failed write can tell.
  /// @return true when it hung up
  awaitable<bool> hangUp();
  void close() { stream_.close(); }

  /// One piece of a body, in either direction.
  std::string& buffer() { return piece_; }

 private:
  beast::tcp_stream stream_;
  beast::flat_buffer received_;
  std::string piece_;
};

}  // namespace coffer::gateway
