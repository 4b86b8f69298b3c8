#include "workers/gateway/agent_stream.hpp"

#include <cerrno>
#include <chrono>

#include <sys/socket.h>

#include "model/limits.hpp"
#include "workers/gateway/failure.hpp"
#include "workers/gateway/json.hpp"

namespace coffer::gateway {

namespace {

using std::chrono::seconds;

constexpr std::size_t kPieceBytes = 32 * 1024;
constexpr std::size_t kLingerBytes = 1024 * 1024;

bool isHttpError(const error_code& error) {
  return error.category() == http::make_error_code(http::error::end_of_stream).category();
}

}  // namespace

AgentStream::AgentStream(tcp::socket socket)
    : stream_(std::move(socket)), received_(limits::kGatewayHeaderBytes + kPieceBytes), piece_(kPieceBytes, '\0') {
  error_code ignored;
  stream_.socket().set_option(tcp::no_delay(true), ignored);
}

awaitable<std::expected<bool, Refusal>> AgentStream::readHead(RequestParser& parser) {
  if (received_.size() == 0) {
    stream_.expires_after(seconds(limits::kGatewayIdleSeconds));
    const auto [error, got] = co_await stream_.async_read_some(received_.prepare(4096), kTuple);
    if (error) co_return false;
    received_.commit(got);
  }
  stream_.expires_after(seconds(limits::kGatewayHeaderSeconds));
  const auto [error, got] = co_await http::async_read_header(stream_, received_, parser, kTuple);
  if (!error) co_return true;
  if (!isHttpError(error) || error == http::error::end_of_stream || error == http::error::partial_message)
    co_return false;
  if (error == http::error::header_limit || error == http::error::buffer_overflow)
    co_return std::unexpected(
        Refusal{431, "header_too_large", "The request's header is longer than the gateway takes."});
  if (error == http::error::body_limit) co_return std::unexpected(refusalOf(failure::kBody));
  co_return std::unexpected(Refusal{
      400, "bad_request", "This is not an HTTP request the model gateway understands: " + error.message() + "."});
}

awaitable<std::expected<std::size_t, std::string_view>> AgentStream::readPiece(RequestParser& parser) {
  while (!parser.is_done()) {
    auto& body = parser.get().body();
    body.data = piece_.data();
    body.size = piece_.size();
    stream_.expires_after(seconds(limits::kGatewayStallSeconds));
    auto [error, ignored] = co_await http::async_read_some(stream_, received_, parser, kTuple);
    if (error == http::error::need_buffer) error = {};
    if (error) {
      const bool cut = error == http::error::partial_message || error == http::error::end_of_stream;
      co_return std::unexpected(isHttpError(error) && !cut ? failure::kBody : failure::kClientGone);
    }
    if (const auto got = piece_.size() - body.size; got > 0) co_return got;
  }
  co_return std::size_t{0};
}

awaitable<bool> AgentStream::drain(RequestParser& parser) {
  if (beast::iequals(parser.get()[http::field::expect], "100-continue") && !parser.is_done()) co_return false;
  for (;;) {
    const auto got = co_await readPiece(parser);
    if (!got) co_return false;
    if (*got == 0) co_return true;
  }
}

awaitable<error_code> AgentStream::writeContinue() {
  static constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
  stream_.expires_after(seconds(limits::kGatewayStallSeconds));
  co_return std::get<0>(co_await asio::async_write(stream_, asio::buffer(kContinue), kTuple));
}

awaitable<error_code> AgentStream::writeHeader(http::response_serializer<http::buffer_body>& serializer) {
  stream_.expires_after(seconds(limits::kGatewayStallSeconds));
  co_return std::get<0>(co_await http::async_write_header(stream_, serializer, kTuple));
}

awaitable<error_code> AgentStream::write(http::response_serializer<http::buffer_body>& serializer) {
  stream_.expires_after(seconds(limits::kGatewayStallSeconds));
  const auto [error, sent] = co_await http::async_write(stream_, serializer, kTuple);
  co_return error == http::error::need_buffer ? error_code{} : error;
}

awaitable<bool> AgentStream::answer(const Refusal& refusal, bool keep) {
  http::response<http::string_body> out{http::int_to_status(refusal.status), 11};
  out.result(refusal.status);
  out.set(http::field::content_type, "application/json");
  if (refusal.status == 429) out.set("x-should-retry", "false");
  if (refusal.status == 426) {
    out.set(http::field::upgrade, "HTTP/1.1");
    out.set(http::field::connection, "upgrade");
  }
  out.keep_alive(keep);
  out.body() = errorBody(refusal.type, refusal.message);
  out.prepare_payload();
  stream_.expires_after(seconds(limits::kGatewayStallSeconds));
  const auto [error, sent] = co_await http::async_write(stream_, out, kTuple);
  if (error || keep) co_return !error;
  // Closing with unread bytes would reset the connection, and the answer with it: read a little on.
  error_code ignored;
  stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
  stream_.expires_after(seconds(1));
  for (std::size_t total = 0; total < kLingerBytes;) {
    const auto [failed, got] = co_await stream_.async_read_some(asio::buffer(piece_), kTuple);
    if (failed) break;
    total += got;
  }
  co_return false;
}

awaitable<bool> AgentStream::hangUp() {
  for (;;) {
    const auto [error] = co_await stream_.socket().async_wait(tcp::socket::wait_read, kTuple);
    if (error) co_return false;
    char byte = 0;
    const auto got = ::recv(stream_.socket().native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    if (got < 0 && errno == EAGAIN) continue;
    if (got > 0) {
      asio::steady_timer never(co_await asio::this_coro::executor, asio::steady_timer::time_point::max());
      co_await never.async_wait(kTuple);
      co_return false;
    }
    co_return true;
  }
}

}  // namespace coffer::gateway
