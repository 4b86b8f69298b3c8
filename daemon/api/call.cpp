#include "api/call.hpp"

#include <cerrno>

namespace coffer::api {
namespace {

std::string_view orEmpty(const char* text) { return text == nullptr ? std::string_view() : std::string_view(text); }

}  // namespace

Call::Call(Message message, Object object) : message_(std::move(message)), object_(std::move(object)) {}

Call::~Call() {
  if (!answered_)
    fail({ErrorCode::Internal, "the call was dropped without an answer; see the journal of cofferd.service"});
}

Message Call::begin() {
  if (answered_ || sd_bus_message_get_expect_reply(message_.get()) <= 0) {
    answered_ = true;
    return {};
  }
  sd_bus_message* reply = nullptr;
  if (sd_bus_message_new_method_return(message_.get(), &reply) < 0) return {};
  return Message::adopt(reply);
}

void Call::send(Message reply, int error) {
  if (error < 0) return fail({ErrorCode::Internal, "the answer could not be written"});
  answered_ = true;
  // A failure here is a caller that has gone, or a bus that has; the loop notices the latter.
  sd_bus_send(bus(), reply.get(), nullptr);
}

void Call::fail(const Error& error) {
  const auto name = std::string(kErrorPrefix) + std::string(errorName(error.code));
  failAs(name.c_str(), error.message);
}

void Call::failAs(const char* name, const std::string& text) {
  if (answered_) return;
  answered_ = true;
  if (sd_bus_message_get_expect_reply(message_.get()) <= 0) return;
  const auto clean = toUtf8(text);
  const sd_bus_error error = SD_BUS_ERROR_MAKE_CONST(name, clean.c_str());
  sd_bus_reply_method_error(message_.get(), &error);
}

sd_bus* Call::bus() const { return sd_bus_message_get_bus(message_.get()); }
std::string_view Call::sender() const { return orEmpty(sd_bus_message_get_sender(message_.get())); }
std::string_view Call::path() const { return orEmpty(sd_bus_message_get_path(message_.get())); }
std::string_view Call::interface() const { return orEmpty(sd_bus_message_get_interface(message_.get())); }
std::string_view Call::member() const { return orEmpty(sd_bus_message_get_member(message_.get())); }
bool Call::interactive() const { return sd_bus_message_get_allow_interactive_authorization(message_.get()) > 0; }

}  // namespace coffer::api
