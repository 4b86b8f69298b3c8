#include "workers/gateway/session.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <ctime>

#include <sys/socket.h>

#include "model/limits.hpp"
#include "workers/gateway/json.hpp"
#include "workers/gateway/key.hpp"

namespace coffer::gateway {

namespace {

using std::chrono::seconds;
using namespace asio::experimental::awaitable_operators;

constexpr std::size_t kPieceBytes = 32 * 1024;
constexpr std::size_t kLingerBytes = 1024 * 1024;

const error_code kNeedBuffer = http::make_error_code(http::error::need_buffer);

/// Headers that belong to one connection (RFC 9110, 7.6.1), say who and where the agent is, carry a key, or ask for a
/// form of the reply in which tokens cannot be counted.
bool staysHere(std::string_view name) {
  static constexpr auto kNames =
      std::to_array<std::string_view>({"connection", "keep-alive",      "proxy-connection",
                                       "te",         "trailer",         "transfer-encoding",
                                       "upgrade",    "content-length",  "host",
                                       "expect",     "authorization",   "proxy-authorization",
                                       "x-api-key",  "api-key",         "x-goog-api-key",
                                       "cookie",     "accept-encoding", "forwarded",
                                       "via",        "http2-settings"});
  return std::ranges::any_of(kNames, [name](std::string_view one) { return beast::iequals(name, one); }) ||
         (name.size() > 12 && beast::iequals(name.substr(0, 12), "x-forwarded-")) ||
         (name.size() > 6 && beast::iequals(name.substr(0, 6), "proxy-"));
}

/// The same for a reply: what would make the agent's side keep or change something for this address is not passed on.
bool staysThere(std::string_view name) {
  static constexpr auto kNames = std::to_array<std::string_view>(
      {"connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
       "content-length", "proxy-authenticate", "set-cookie", "alt-svc", "strict-transport-security", "location"});
  return std::ranges::any_of(kNames, [name](std::string_view one) { return beast::iequals(name, one); });
}

template <typename Fields>
bool namedByConnection(const Fields& fields, std::string_view name) {
  return http::token_list(fields[http::field::connection]).exists(name);
}

bool isHttpError(const error_code& error) {
  return error.category() == http::make_error_code(http::error::end_of_stream).category();
}

std::uint64_t secondsNow() { return static_cast<std::uint64_t>(std::time(nullptr)); }

Refusal providerTrouble(std::string_view why) {
  if (why == failure::kTls)
    return {502, "provider_tls", "The provider's certificate is not good for its name, so nothing was sent to it."};
  if (why == failure::kTimeout) return {504, "provider_timeout", "The provider did not answer in time."};
  if (why == failure::kRedirect)
    return {502, "provider_redirect",
            "The provider answered with a redirect, which the model gateway does not follow."};
  if (why == failure::kUnreachable)
    return {502, "provider_unreachable", "The provider cannot be reached: no address that may be dialled answered."};
  if (why == failure::kBody) return {413, "body_too_large", "The request's body is longer than the gateway takes."};
  return {502, "provider_cut", "The provider closed the connection before it answered."};
}

}  // namespace

Session::Session(Server& server, tcp::socket socket)
    : server_(server),
      client_(std::move(socket)),
      buffer_(limits::kGatewayHeaderBytes + kPieceBytes),
      piece_(kPieceBytes, '\0') {
  error_code ignored;
  client_.socket().set_option(tcp::no_delay(true), ignored);
}

void Session::cut() {
  client_.close();
  if (open_) open_->close();
}

awaitable<void> Session::run() {
  for (;;) {
    RequestParser parser;
    parser.header_limit(limits::kGatewayHeaderBytes);
    parser.body_limit(server_.settings.requestBytes);
    if (!co_await readHead(parser)) break;
    if (!co_await handle(parser) || server_.stopping()) break;
  }
  client_.close();
}

awaitable<bool> Session::readHead(RequestParser& parser) {
  if (buffer_.size() == 0) {
    client_.expires_after(seconds(limits::kGatewayIdleSeconds));
    const auto [error, got] = co_await client_.async_read_some(buffer_.prepare(4096), kTuple);
    if (error) co_return false;
    buffer_.commit(got);
  }
  client_.expires_after(seconds(limits::kGatewayHeaderSeconds));
  const auto [error, got] = co_await http::async_read_header(client_, buffer_, parser, kTuple);
  if (!error) co_return true;
  if (!isHttpError(error) || error == http::error::end_of_stream || error == http::error::partial_message)
    co_return false;
  Refusal refusal{400, "bad_request",
                  "This is not an HTTP request the model gateway understands: " + error.message() + "."};
  if (error == http::error::header_limit || error == http::error::buffer_overflow)
    refusal = {431, "header_too_large", "The request's header is longer than the gateway takes."};
  else if (error == http::error::body_limit)
    refusal = providerTrouble(failure::kBody);
  server_.usage.refused(refusal.status, "");
  co_await answer(refusal, false);
  co_return false;
}

std::expected<Route, Refusal> Session::judge(const RequestParser& parser) const {
  const auto& head = parser.get();
  if (head.version() != 11)
    return std::unexpected(Refusal{505, "version_not_supported", "Only HTTP/1.1 is spoken here."});
  // A request that names another host was meant for somewhere else: a proxy's, or a name that was made to point here.
  const auto target = std::string_view(head.target());
  if (head.method() == http::verb::connect || !target.starts_with('/'))
    return route(std::string_view(head.method_string()), target, false, server_.settings);
  if (head.count(http::field::host) != 1 || !isOurHost(head[http::field::host], server_.port))
    return std::unexpected(Refusal{
        421, "wrong_host", "This is the model gateway of a Cofferdam sandbox; the Host header names another host."});
  // What is neither counted nor exactly chunked has no end that two readers must agree on.
  if (head.count(http::field::transfer_encoding) > 0 &&
      (head.count(http::field::transfer_encoding) > 1 ||
       !beast::iequals(head[http::field::transfer_encoding], "chunked")))
    return std::unexpected(Refusal{400, "bad_request", "The only transfer encoding spoken here is chunked."});
  auto found = route(std::string_view(head.method_string()), target, parser.upgrade(), server_.settings);
  if (!found) return found;

  bool authorized = false;
  for (const auto& field : head) {
    auto value = std::string_view(field.value());
    if (field.name() == http::field::authorization) {
      if (value.size() < 7 || !beast::iequals(value.substr(0, 7), "Bearer "))
        value = {};
      else
        value.remove_prefix(7);
    } else if (!beast::iequals(field.name_string(), "x-api-key")) {
      continue;
    }
    if (!sameKey(value, server_.settings.dummyKey)) {
      authorized = false;
      break;
    }
    authorized = true;
  }
  if (!authorized)
    return std::unexpected(Refusal{401, "authentication_error", "The key is not the one this sandbox was given."});
  if (!head[http::field::content_encoding].empty())
    return std::unexpected(Refusal{415, "encoding_not_supported", "Compressed request bodies are not taken here."});
  if (!found->generates) return found;
  if (server_.usage.full())
    return std::unexpected(
        Refusal{429, "insufficient_quota", "This run has made as many model requests as one run may make."});
  if (server_.settings.budget && !parser.content_length())
    return std::unexpected(
        Refusal{411, "length_required", "A run with a token budget must say how long a request's body is."});
  return found;
}

awaitable<bool> Session::handle(RequestParser& parser) {
  auto found = judge(parser);
  if (!found) {
    server_.usage.refused(found.error().status, std::string_view(parser.get().target()));
    // A client that is still sending would see a reset instead of the answer.
    const bool drained = co_await drain(parser);
    co_return co_await answer(found.error(), drained && parser.keep_alive() && found.error().status != 400);
  }
  const auto reserve = found->generates ? parser.content_length().value_or(0) / limits::kGatewayBytesPerToken +
                                              limits::kGatewayReservedOutput
                                        : 0;
  const bool affordable =
      !found->generates || !server_.settings.budget || server_.usage.committed() + reserve <= *server_.settings.budget;
  const auto number = server_.usage.begin(found->path, affordable ? reserve : 0);
  if (!number) {
    server_.fail(number.error());
    co_return co_await answer(
        {503, "not_accountable", "The gateway cannot write down what it does, so it does nothing."}, false);
  }
  Exchange exchange{.route = *std::move(found), .parser = parser, .usage = {}, .connection = {}, .meter = {}};
  exchange.usage.number = *number;
  exchange.usage.path = exchange.route.path;
  if (affordable) co_return co_await forward(exchange);

  // Agents end at once on this answer, and only on this one.
  const Refusal refusal{429, "insufficient_quota", "This run's token budget is used up."};
  exchange.usage.error = failure::kBudget;
  exchange.usage.status = refusal.status;
  if (auto ended = server_.usage.end(exchange.usage); !ended) server_.fail(ended.error());
  const bool drained = co_await drain(parser);
  co_return co_await answer(refusal, drained && parser.keep_alive());
}

awaitable<bool> Session::forward(Exchange& exchange) {
  const auto begun = std::chrono::steady_clock::now();
  auto trouble = co_await upload(exchange);
  if (trouble.empty()) {
    // Whichever ends first ends the other: an agent that hangs up must not leave a model talking.
    co_await (download(exchange) || watch(exchange));
    trouble = exchange.usage.error;
  }
  exchange.usage.error = trouble;
  if (server_.stopping() && !exchange.whole) exchange.usage.error = failure::kStopped;
  open_.reset();
  const bool clientGone = exchange.usage.error == failure::kClientGone || exchange.usage.error == failure::kStopped;
  const auto refusal = providerTrouble(trouble);
  const bool answerable = !exchange.whole && !exchange.answered && !clientGone;
  if (answerable) exchange.usage.status = refusal.status;
  exchange.usage.milliseconds = static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - begun).count());
  settle(exchange);
  if (answerable) {
    const bool drained = co_await drain(exchange.parser);
    co_return co_await answer(refusal, drained && exchange.parser.keep_alive());
  }
  co_return exchange.whole&& exchange.keep;
}

awaitable<std::string_view> Session::upload(Exchange& exchange) {
  if (beast::iequals(exchange.parser.get()[http::field::expect], "100-continue")) {
    static constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
    client_.expires_after(seconds(limits::kGatewayStallSeconds));
    const auto [error, sent] = co_await asio::async_write(client_, asio::buffer(kContinue), kTuple);
    if (error) co_return failure::kClientGone;
  }
  auto connection = co_await server_.acquire();
  if (!connection) co_return connection.error();
  exchange.connection = *std::move(connection);
  open_ = exchange.connection;
  // Only this protocol must be asked for its token counts, so only its bodies are read before they are sent.
  if (exchange.route.protocol == Protocol::Chat && exchange.route.generates) co_return co_await uploadWhole(exchange);
  co_return co_await uploadStreaming(exchange);
}

RequestHead Session::headFor(const Exchange& exchange) const {
  const auto& head = exchange.parser.get();
  const auto& settings = server_.settings;
  RequestHead out{head.method(), exchange.route.target, 11};
  const bool defaultPort = settings.base.port == (settings.base.tls ? 443 : 80);
  const auto host = settings.base.host.contains(':') ? "[" + settings.base.host + "]" : settings.base.host;
  out.set(http::field::host, defaultPort ? host : host + ":" + std::to_string(settings.base.port));
  for (const auto& field : head) {
    const std::string_view name(field.name_string());
    if (!staysHere(name) && !namedByConnection(head, name)) out.insert(field.name_string(), field.value());
  }
  const bool apiKey = settings.keyHeader == KeyHeader::ApiKey ||
                      (settings.keyHeader == KeyHeader::ByProtocol && exchange.route.protocol == Protocol::Messages);
  if (apiKey)
    out.set("x-api-key", server_.key);
  else
    out.set(http::field::authorization, "Bearer " + server_.key);
  return out;
}

awaitable<std::string_view> Session::uploadStreaming(Exchange& exchange) {
  auto head = headFor(exchange);
  if (const auto length = exchange.parser.content_length())
    head.content_length(*length);
  else if (exchange.parser.chunked())
    head.chunked(true);
  else if (head.method() == http::verb::post)
    head.content_length(0);
  http::request_serializer<http::buffer_body> serializer(head);
  const auto stall = seconds(limits::kGatewayStallSeconds);
  exchange.connection->expiresAfter(stall);
  head.body().data = nullptr;
  head.body().more = true;
  auto error = co_await exchange.connection->writeHeader(serializer);
  while (!error) {
    const auto got = co_await readPiece(exchange.parser);
    if (!got) co_return got.error();
    exchange.sentBytes += *got;
    head.body().data = *got > 0 ? piece_.data() : nullptr;
    head.body().size = *got;
    head.body().more = *got > 0;
    exchange.connection->expiresAfter(stall);
    error = co_await exchange.connection->write(serializer);
    if (error == kNeedBuffer) error = {};
    if (*got == 0) break;
  }
  // A provider may answer and close before it has read everything: what it said is there to be read.
  co_return std::string_view{};
}

awaitable<std::string_view> Session::uploadWhole(Exchange& exchange) {
  std::string body;
  for (;;) {
    const auto got = co_await readPiece(exchange.parser);
    if (!got) co_return got.error();
    if (*got == 0) break;
    body.append(piece_, 0, *got);
  }
  if (auto changed = withUsage(body)) body = *std::move(changed);
  exchange.sentBytes = body.size();
  auto head = headFor(exchange);
  head.content_length(body.size());
  head.body().data = body.data();
  head.body().size = body.size();
  head.body().more = false;
  http::request_serializer<http::buffer_body> serializer(head);
  exchange.connection->expiresAfter(seconds(limits::kGatewayStallSeconds));
  static_cast<void>(co_await exchange.connection->write(serializer));
  co_return std::string_view{};
}

awaitable<std::expected<std::size_t, std::string_view>> Session::readPiece(RequestParser& parser) {
  while (!parser.is_done()) {
    auto& body = parser.get().body();
    body.data = piece_.data();
    body.size = piece_.size();
    client_.expires_after(seconds(limits::kGatewayStallSeconds));
    auto [error, ignored] = co_await http::async_read_some(client_, buffer_, parser, kTuple);
    if (error == kNeedBuffer) error = {};
    if (error) {
      const bool cut = error == http::error::partial_message || error == http::error::end_of_stream;
      co_return std::unexpected(isHttpError(error) && !cut ? failure::kBody : failure::kClientGone);
    }
    if (const auto got = piece_.size() - body.size; got > 0) co_return got;
  }
  co_return std::size_t{0};
}

awaitable<bool> Session::drain(RequestParser& parser) {
  if (beast::iequals(parser.get()[http::field::expect], "100-continue") && !parser.is_done()) co_return false;
  for (;;) {
    const auto got = co_await readPiece(parser);
    if (!got) co_return false;
    if (*got == 0) co_return true;
  }
}

awaitable<void> Session::download(Exchange& exchange) {
  const auto trouble = co_await relayReply(exchange);
  if (!exchange.whole && exchange.usage.error.empty()) exchange.usage.error = trouble;
}

awaitable<std::string_view> Session::relayReply(Exchange& exchange) {
  auto& connection = *exchange.connection;
  std::optional<ReplyParser> reply;
  do {  // a provider may say 100 or 103 first
    reply.emplace();
    reply->header_limit(limits::kGatewayHeaderBytes);
    reply->body_limit(boost::none);
    connection.expiresAfter(seconds(limits::kGatewayFirstByteSeconds));
    if (const auto error = co_await connection.readHeader(*reply))
      co_return error == beast::error::timeout ? failure::kTimeout : failure::kCut;
  } while (reply->get().result_int() / 100 == 1 && reply->get().result_int() != 101);

  const auto& head = reply->get();
  const auto status = head.result_int();
  const bool good = status / 100 == 2;
  if (status == 101) co_return failure::kServer;
  if (status / 100 == 3) co_return failure::kRedirect;
  exchange.usage.status = status;
  exchange.usage.pause =
      readPause([&head](std::string_view name) { return std::string_view(head[name]); }, secondsNow());
  const bool readable =
      head[http::field::content_encoding].empty() || beast::iequals(head[http::field::content_encoding], "identity");
  if (good && exchange.route.generates && readable) {
    const bool events = std::string_view(head[http::field::content_type]).contains("text/event-stream");
    exchange.meter =
        std::make_unique<Meter>(exchange.route.protocol, events ? Meter::Framing::Events : Meter::Framing::Json);
  }

  exchange.keep = exchange.parser.keep_alive();
  http::response<http::buffer_body> out{head.result(), 11};
  out.result(status);
  for (const auto& field : head) {
    const std::string_view name(field.name_string());
    if (!staysThere(name) && !namedByConnection(head, name)) out.insert(field.name_string(), field.value());
  }
  if (const auto length = reply->content_length())
    out.content_length(*length);
  else if (status != 204)
    out.chunked(true);
  out.keep_alive(exchange.keep);
  out.body().data = nullptr;
  out.body().more = true;
  http::response_serializer<http::buffer_body> serializer(out);
  const auto stall = seconds(limits::kGatewayStallSeconds);
  client_.expires_after(stall);
  exchange.answered = true;
  if (const auto [error, sent] = co_await http::async_write_header(client_, serializer, kTuple); error)
    co_return failure::kClientGone;

  std::string errorText;
  while (!reply->is_done()) {
    auto& body = reply->get().body();
    body.data = piece_.data();
    body.size = piece_.size();
    connection.expiresAfter(seconds(limits::kGatewayReplySeconds));
    auto error = co_await connection.readSome(*reply);
    const auto got = piece_.size() - body.size;
    if (error == kNeedBuffer) error = {};
    // Without a length the end of the connection is the end of the body, with or without TLS's own farewell.
    if (error == ssl::error::stream_truncated && reply->need_eof()) {
      error = {};
      reply->put_eof(error);
    }
    const std::string_view bytes(piece_.data(), got);
    exchange.receivedBytes += got;
    if (exchange.meter) exchange.meter->feed(bytes);
    if (!good && errorText.size() < limits::kGatewayErrorBytes) errorText += bytes;
    // The agent may hang up as soon as it has the last byte; by then it must be known that it was the last.
    if (!error && reply->is_done()) complete(exchange, *reply, errorText);
    if (got > 0) {
      out.body().data = piece_.data();
      out.body().size = got;
      client_.expires_after(stall);
      const auto [failed, sent] = co_await http::async_write(client_, serializer, kTuple);
      if (failed && failed != kNeedBuffer) co_return failure::kClientGone;
    }
    if (error) co_return error == beast::error::timeout ? failure::kTimeout : failure::kCut;
  }
  if (!exchange.whole) complete(exchange, *reply, errorText);
  out.body().data = nullptr;
  out.body().size = 0;
  out.body().more = false;
  client_.expires_after(stall);
  const auto [failed, sent] = co_await http::async_write(client_, serializer, kTuple);
  if (failed) exchange.keep = false;
  co_return std::string_view{};
}

void Session::complete(Exchange& exchange, const ReplyParser& reply, std::string_view errorText) {
  exchange.whole = true;
  auto& usage = exchange.usage;
  if (exchange.meter) exchange.meter->finish();
  if (usage.status / 100 != 2)
    usage.error = classifyStatus(usage.status, errorText);
  else if (exchange.meter && !exchange.meter->error().empty())
    usage.error = classifyWord(exchange.meter->error());
  if (reply.keep_alive()) server_.release(exchange.connection);
}

awaitable<void> Session::watch(Exchange& exchange) {
  for (;;) {
    const auto [error] = co_await client_.socket().async_wait(tcp::socket::wait_read, kTuple);
    if (error) co_return;
    char byte = 0;
    const auto got = ::recv(client_.socket().native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    if (got < 0 && errno == EAGAIN) continue;
    if (got > 0) {  // its next request, early; from here on only a failed write tells that it left
      asio::steady_timer never(co_await asio::this_coro::executor, asio::steady_timer::time_point::max());
      co_await never.async_wait(kTuple);
      co_return;
    }
    if (!exchange.whole) {
      exchange.usage.error = failure::kClientGone;
      exchange.connection->close();
    }
    client_.close();
    co_return;
  }
}

void Session::settle(Exchange& exchange) {
  auto& usage = exchange.usage;
  const auto* meter = exchange.meter.get();
  if (meter != nullptr) usage.model = meter->model();
  if (meter != nullptr && meter->counted()) {
    usage.tokens = meter->tokens();
  } else if (exchange.route.generates) {
    // The provider took the request and did not say what it costs. Hanging up early must not be a way to spend nothing.
    const bool began = usage.status / 100 == 2 && exchange.answered;
    const bool left =
        !exchange.answered && exchange.connection && exchange.sentBytes > 0 &&
        (usage.error == failure::kClientGone || usage.error == failure::kStopped || usage.error == failure::kTimeout);
    if (began || left) {
      if (meter != nullptr) usage.tokens = meter->tokens();
      if (usage.tokens.input + usage.tokens.cached + usage.tokens.cacheWrite == 0)
        usage.tokens.input = exchange.sentBytes / limits::kGatewayBytesPerToken;
      usage.tokens.output = std::max(usage.tokens.output, exchange.receivedBytes / limits::kGatewayBytesPerToken);
      usage.estimated = true;
    }
  }
  if (auto ended = server_.usage.end(usage); !ended) server_.fail(ended.error());
}

awaitable<bool> Session::answer(const Refusal& refusal, bool keep) {
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
  client_.expires_after(seconds(limits::kGatewayStallSeconds));
  const auto [error, sent] = co_await http::async_write(client_, out, kTuple);
  if (error || keep) co_return !error;
  // Closing with unread bytes would reset the connection, and the answer with it: read a little on.
  error_code ignored;
  client_.socket().shutdown(tcp::socket::shutdown_send, ignored);
  client_.expires_after(seconds(1));
  for (std::size_t total = 0; total < kLingerBytes;) {
    const auto [failed, got] = co_await client_.async_read_some(asio::buffer(piece_), kTuple);
    if (failed) break;
    total += got;
  }
  co_return false;
}

}  // namespace coffer::gateway
