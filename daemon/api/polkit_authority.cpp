#include "api/polkit_authority.hpp"

#include <format>

#include "api/writer.hpp"

namespace coffer::api {
namespace {

constexpr auto kService = "org.freedesktop.PolicyKit1";
constexpr auto kPath = "/org/freedesktop/PolicyKit1/Authority";
constexpr auto kInterface = "org.freedesktop.PolicyKit1.Authority";

Message polkitCall(sd_bus* bus, const char* member) {
  sd_bus_message* call = nullptr;
  if (sd_bus_message_new_method_call(bus, &call, kService, kPath, kInterface, member) < 0) return {};
  return Message::adopt(call);
}

}  // namespace

void PolkitAuthority::check(const Question& question, std::function<void(Verdict)> answer) {
  auto call = polkitCall(bus_, "CheckAuthorization");
  auto& pending = pending_.emplace_front();
  pending.self = this;
  pending.place = pending_.begin();
  pending.cancellation = std::format("cofferdam-{}", ++last_);
  pending.answer = std::move(answer);

  const auto give = [&] {
    const auto done = std::move(pending.answer);
    pending_.erase(pending.place);
    done(Verdict::Unavailable);
  };
  if (!call) return give();
  Writer writer(call.get());
  using Details = std::map<std::string, std::string>;
  using Subject = std::tuple<std::string, std::map<std::string, std::variant<std::string>>>;
  writer.append(Subject{"system-bus-name", {{"name", question.sender}}});
  writer.append(question.action);
  writer.append(Details{{"cofferdam.object", question.object}});
  writer.append(std::uint32_t{question.interactive ? 1U : 0U});
  writer.append(pending.cancellation);
  if (writer.error() < 0 ||
      sd_bus_call_async(bus_, pending.slot.out(), call.get(), &PolkitAuthority::onReply, &pending, patience_) < 0)
    give();
}

int PolkitAuthority::onReply(sd_bus_message* reply, void* data, sd_bus_error*) {
  auto& pending = *static_cast<Pending*>(data);
  auto& self = *pending.self;
  auto verdict = Verdict::Unavailable;
  int authorised = 0;
  int challenge = 0;
  if (sd_bus_message_is_method_error(reply, nullptr) > 0) {
    // Whoever still sits before a password prompt is told that it is of no use any more.
    self.cancel(pending.cancellation);
  } else if (sd_bus_message_enter_container(reply, 'r', "bba{ss}") > 0 &&
             sd_bus_message_read(reply, "bb", &authorised, &challenge) > 0) {
    verdict = authorised != 0 ? Verdict::Yes : challenge != 0 ? Verdict::Challenge : Verdict::No;
  }
  const auto answer = std::move(pending.answer);
  self.pending_.erase(pending.place);
  answer(verdict);
  return 0;
}

void PolkitAuthority::cancel(const std::string& cancellation) {
  const auto call = polkitCall(bus_, "CancelCheckAuthorization");
  if (!call) return;
  Writer(call.get()).append(cancellation);
  sd_bus_message_set_expect_reply(call.get(), 0);
  sd_bus_send(bus_, call.get(), nullptr);
}

}  // namespace coffer::api
