#include "workers/gateway/session.hpp"

#include "model/limits.hpp"
#include "workers/gateway/admission.hpp"
#include "workers/gateway/failure.hpp"
#include "workers/gateway/server.hpp"

namespace coffer::gateway {

Session::Session(Server& server, tcp::socket socket) : server_(server), agent_(std::move(socket)) {}

void Session::cut() {
  agent_.close();
  if (exchange_) exchange_->cut();
}

awaitable<void> Session::run() {
  for (;;) {
    RequestParser parser;
    parser.header_limit(limits::kGatewayHeaderBytes);
    parser.body_limit(server_.settings.requestBytes);
    const auto more = co_await agent_.readHead(parser);
    if (!more) {
      server_.usage.refused(more.error().status, "");
      co_await agent_.answer(more.error(), false);
    }
    if (!more || !*more) break;
    const bool keep = co_await handle(parser);
    exchange_.reset();
    if (!keep || server_.stopping()) break;
  }
  agent_.close();
}

awaitable<bool> Session::handle(RequestParser& parser) {
  auto found = admit(parser, server_);
  if (!found) {
    server_.usage.refused(found.error().status, std::string_view(parser.get().target()));
    // A client that is still sending would see a reset instead of the answer.
    const bool drained = co_await agent_.drain(parser);
    co_return co_await agent_.answer(found.error(), drained && parser.keep_alive() && found.error().status != 400);
  }
  const auto reserve = found->generates ? parser.content_length().value_or(0) / limits::kGatewayBytesPerToken +
                                              limits::kGatewayReservedOutput
                                        : 0;
  const bool affordable =
      !found->generates || !server_.settings.budget || server_.usage.committed() + reserve <= *server_.settings.budget;
  const auto number = server_.usage.begin(found->path, affordable ? reserve : 0);
  if (!number) {
    server_.fail(number.error());
    const Refusal refusal{503, "not_accountable", "The gateway cannot write down what it does, so it does nothing."};
    co_return co_await agent_.answer(refusal, false);
  }
  exchange_.emplace(server_, agent_, parser, *std::move(found), *number);
  if (affordable) co_return co_await exchange_->forward();

  // Agents end at once on this answer, and only on this one.
  const Refusal refusal{429, "insufficient_quota", "This run's token budget is used up."};
  exchange_->refuse(failure::kBudget, refusal.status);
  const bool drained = co_await agent_.drain(parser);
  co_return co_await agent_.answer(refusal, drained && parser.keep_alive());
}

}  // namespace coffer::gateway
