#include "workers/gateway/exchange.hpp"

#include <algorithm>
#include <chrono>
#include <ctime>

#include "model/limits.hpp"
#include "workers/gateway/failure.hpp"
#include "workers/gateway/json.hpp"
#include "workers/gateway/relayed_headers.hpp"
#include "workers/gateway/server.hpp"

namespace coffer::gateway {

namespace {

using std::chrono::seconds;
using namespace asio::experimental::awaitable_operators;

std::uint64_t secondsNow() { return static_cast<std::uint64_t>(std::time(nullptr)); }

}  // namespace

Exchange::Exchange(Server& server, AgentStream& agent, RequestParser& parser, Route route, std::uint64_t number)
    : server_(server), agent_(agent), parser_(parser), route_(std::move(route)) {
  usage_.number = number;
  usage_.path = route_.path;
}

void Exchange::cut() {
  if (connection_) connection_->close();
}

void Exchange::refuse(std::string_view error, unsigned status) {
  usage_.error = error;
  usage_.status = status;
  if (auto ended = server_.usage.end(usage_); !ended) server_.fail(ended.error());
}

awaitable<bool> Exchange::forward() {
  const auto begun = std::chrono::steady_clock::now();
  auto trouble = co_await upload();
  if (trouble.empty()) {
    // Whichever ends first ends the other: an agent that hangs up must not leave a model talking.
    co_await (download() || watch());
    // An agent may leave on seeing what the provider said of it, before it has read why.
    if (usage_.error == failure::kClientGone && usage_.status >= 400)
      usage_.error = classifyStatus(usage_.status, errorText_);
    trouble = usage_.error;
  }
  usage_.error = trouble;
  if (server_.stopping() && !whole_) usage_.error = failure::kStopped;
  const bool clientGone = usage_.error == failure::kClientGone || usage_.error == failure::kStopped;
  const auto refusal = refusalOf(trouble);
  const bool answerable = !whole_ && !answered_ && !clientGone;
  if (answerable) usage_.status = refusal.status;
  usage_.milliseconds = static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - begun).count());
  settle();
  if (answerable) {
    const bool drained = co_await agent_.drain(parser_);
    co_return co_await agent_.answer(refusal, drained && parser_.keep_alive());
  }
  co_return whole_&& keep_;
}

awaitable<std::string_view> Exchange::upload() {
  if (beast::iequals(parser_.get()[http::field::expect], "100-continue")) {
    if (co_await agent_.writeContinue()) co_return failure::kClientGone;
  }
  auto connection = co_await server_.acquire();
  if (!connection) co_return connection.error();
  connection_ = *std::move(connection);
  // Only this protocol must be asked for its token counts, so only its bodies are read before they are sent.
  if (route_.protocol == Protocol::Chat && route_.generates) co_return co_await uploadWhole();
  co_return co_await uploadStreaming();
}

RequestHead Exchange::headForProvider() const {
  const auto& head = parser_.get();
  const auto& settings = server_.settings;
  RequestHead out{head.method(), route_.target, 11};
  const bool defaultPort = settings.base.port == (settings.base.tls ? 443 : 80);
  const auto host = settings.base.host.contains(':') ? "[" + settings.base.host + "]" : settings.base.host;
  out.set(http::field::host, defaultPort ? host : host + ":" + std::to_string(settings.base.port));
  for (const auto& field : head) {
    const std::string_view name(field.name_string());
    if (!staysHere(name) && !namedByConnection(head, name)) out.insert(field.name_string(), field.value());
  }
  const bool apiKey = settings.keyHeader == KeyHeader::ApiKey ||
                      (settings.keyHeader == KeyHeader::ByProtocol && route_.protocol == Protocol::Messages);
  if (apiKey)
    out.set("x-api-key", server_.key);
  else
    out.set(http::field::authorization, "Bearer " + server_.key);
  return out;
}

ReplyHead Exchange::headForAgent(const ReplyParser& reply) const {
  const auto& head = reply.get();
  ReplyHead out{head.result(), 11};
  out.result(head.result_int());
  for (const auto& field : head) {
    const std::string_view name(field.name_string());
    if (!staysThere(name) && !namedByConnection(head, name)) out.insert(field.name_string(), field.value());
  }
  if (const auto length = reply.content_length())
    out.content_length(*length);
  else if (head.result_int() != 204)
    out.chunked(true);
  out.keep_alive(keep_);
  out.body().data = nullptr;
  out.body().more = true;
  return out;
}

awaitable<std::string_view> Exchange::uploadStreaming() {
  auto head = headForProvider();
  if (const auto length = parser_.content_length())
    head.content_length(*length);
  else if (parser_.chunked())
    head.chunked(true);
  else if (head.method() == http::verb::post)
    head.content_length(0);
  http::request_serializer<http::buffer_body> serializer(head);
  const auto stall = seconds(limits::kGatewayStallSeconds);
  connection_->expiresAfter(stall);
  head.body().data = nullptr;
  head.body().more = true;
  auto error = co_await connection_->writeHeader(serializer);
  while (!error) {
    const auto got = co_await agent_.readPiece(parser_);
    if (!got) co_return got.error();
    sentBytes_ += *got;
    head.body().data = *got > 0 ? agent_.buffer().data() : nullptr;
    head.body().size = *got;
    head.body().more = *got > 0;
    connection_->expiresAfter(stall);
    error = co_await connection_->write(serializer);
    if (error == http::error::need_buffer) error = {};
    if (*got == 0) break;
  }
  // A provider may answer and close before it has read everything: what it said is there to be read.
  co_return std::string_view{};
}

awaitable<std::string_view> Exchange::uploadWhole() {
  std::string body;
  for (;;) {
    const auto got = co_await agent_.readPiece(parser_);
    if (!got) co_return got.error();
    if (*got == 0) break;
    body.append(agent_.buffer(), 0, *got);
  }
  if (auto changed = withUsage(body)) body = *std::move(changed);
  sentBytes_ = body.size();
  auto head = headForProvider();
  head.content_length(body.size());
  head.body().data = body.data();
  head.body().size = body.size();
  head.body().more = false;
  http::request_serializer<http::buffer_body> serializer(head);
  connection_->expiresAfter(seconds(limits::kGatewayStallSeconds));
  static_cast<void>(co_await connection_->write(serializer));
  co_return std::string_view{};
}

awaitable<void> Exchange::download() {
  const auto trouble = co_await relayReply();
  if (!whole_ && usage_.error.empty()) usage_.error = trouble;
}

awaitable<std::string_view> Exchange::relayReply() {
  auto& connection = *connection_;
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
  usage_.status = status;
  usage_.pause = readPause([&head](std::string_view name) { return std::string_view(head[name]); }, secondsNow());
  const bool readable =
      head[http::field::content_encoding].empty() || beast::iequals(head[http::field::content_encoding], "identity");
  if (good && route_.generates && readable) {
    const bool events = std::string_view(head[http::field::content_type]).contains("text/event-stream");
    meter_ = std::make_unique<Meter>(route_.protocol, events ? Meter::Framing::Events : Meter::Framing::Json);
  }

  keep_ = parser_.keep_alive();
  auto out = headForAgent(*reply);
  http::response_serializer<http::buffer_body> serializer(out);
  answered_ = true;
  if (co_await agent_.writeHeader(serializer)) co_return failure::kClientGone;

  auto& piece = agent_.buffer();
  while (!reply->is_done()) {
    auto& body = reply->get().body();
    body.data = piece.data();
    body.size = piece.size();
    connection.expiresAfter(seconds(limits::kGatewayReplySeconds));
    auto error = co_await connection.readSome(*reply);
    const auto got = piece.size() - body.size;
    if (error == http::error::need_buffer) error = {};
    // Without a length the end of the connection is the end of the body, with or without TLS's own farewell.
    if (error == ssl::error::stream_truncated && reply->need_eof()) {
      error = {};
      reply->put_eof(error);
    }
    const std::string_view bytes(piece.data(), got);
    receivedBytes_ += got;
    if (meter_) meter_->feed(bytes);
    if (!good && errorText_.size() < limits::kGatewayErrorBytes) errorText_ += bytes;
    // The agent may hang up as soon as it has the last byte; by then it must be known that it was the last.
    if (!error && reply->is_done()) complete(*reply);
    if (got > 0) {
      out.body().data = piece.data();
      out.body().size = got;
      if (co_await agent_.write(serializer)) co_return failure::kClientGone;
    }
    if (error) co_return error == beast::error::timeout ? failure::kTimeout : failure::kCut;
  }
  if (!whole_) complete(*reply);
  out.body().data = nullptr;
  out.body().size = 0;
  out.body().more = false;
  if (co_await agent_.write(serializer)) keep_ = false;
  co_return std::string_view{};
}

void Exchange::complete(const ReplyParser& reply) {
  whole_ = true;
  auto& usage = usage_;
  if (meter_) meter_->finish();
  if (usage.status / 100 != 2)
    usage.error = classifyStatus(usage.status, errorText_);
  else if (meter_ && !meter_->error().empty())
    usage.error = classifyWord(meter_->error());
  if (reply.keep_alive()) server_.release(connection_);
}

awaitable<void> Exchange::watch() {
  if (!co_await agent_.hangUp()) co_return;
  if (!whole_) {
    usage_.error = failure::kClientGone;
    connection_->close();
  }
  agent_.close();
}

void Exchange::settle() {
  auto& usage = usage_;
  const auto* meter = meter_.get();
  if (meter != nullptr) usage.model = meter->model();
  if (meter != nullptr && meter->counted()) {
    usage.tokens = meter->tokens();
  } else if (route_.generates) {
    // The provider took the request and did not say what it costs. Hanging up early must not be a way to spend nothing.
    const bool began = usage.status / 100 == 2 && answered_;
    const bool left =
        !answered_ && connection_ && sentBytes_ > 0 &&
        (usage.error == failure::kClientGone || usage.error == failure::kStopped || usage.error == failure::kTimeout);
    if (began || left) {
      if (meter != nullptr) usage.tokens = meter->tokens();
      if (usage.tokens.input + usage.tokens.cached + usage.tokens.cacheWrite == 0)
        usage.tokens.input = sentBytes_ / limits::kGatewayBytesPerToken;
      usage.tokens.output = std::max(usage.tokens.output, receivedBytes_ / limits::kGatewayBytesPerToken);
      usage.estimated = true;
    }
  }
  if (auto ended = server_.usage.end(usage); !ended) server_.fail(ended.error());
}

}  // namespace coffer::gateway
