#include "engine/bus_property.hpp"

#include <cstring>

namespace coffer::engine {
namespace {

using Value = std::expected<std::string, Error>;

struct Wait {
  Completion<Value> completion;
  sd_bus_slot* slot = nullptr;
  ~Wait() { sd_bus_slot_unref(slot); }
};

Value failed(std::string words) { return std::unexpected(Error{ErrorCode::Environment, std::move(words)}); }

Value valueIn(sd_bus_message* reply) {
  if (const auto* error = sd_bus_message_get_error(reply); error != nullptr) {
    if (sd_bus_error_has_name(error, SD_BUS_ERROR_NO_REPLY) > 0 ||
        sd_bus_error_has_name(error, SD_BUS_ERROR_TIMEOUT) > 0)
      return failed("no answer in time");
    return failed(error->message != nullptr ? error->message : error->name);
  }
  const char* type = nullptr;
  if (sd_bus_message_peek_type(reply, nullptr, &type) <= 0 || type == nullptr) return failed("an empty answer");
  if (std::strcmp(type, "s") == 0) {
    const char* text = nullptr;
    if (sd_bus_message_read(reply, "v", "s", &text) > 0) return std::string(text);
  } else if (std::strcmp(type, "b") == 0) {
    int value = 0;
    if (sd_bus_message_read(reply, "v", "b", &value) > 0) return std::string(value != 0 ? "true" : "false");
  }
  return failed("an answer of another type");
}

int onReply(sd_bus_message* reply, void* data, sd_bus_error*) {
  // Setting it resumes the coroutine that owns the slot of this very call: what is needed is taken first.
  const auto completion = static_cast<Wait*>(data)->completion;
  completion.set(valueIn(reply));
  return 1;
}

}  // namespace

Async<std::expected<std::string, Error>> readProperty(sd_bus* bus, BusProperty property,
                                                      std::chrono::microseconds patience) {
  Wait wait;
  sd_bus_message* call = nullptr;
  int result = sd_bus_message_new_method_call(bus, &call, property.service.c_str(), property.path.c_str(),
                                              "org.freedesktop.DBus.Properties", "Get");
  if (result >= 0) result = sd_bus_message_append(call, "ss", property.interface.c_str(), property.name.c_str());
  if (result >= 0)
    result = sd_bus_call_async(bus, &wait.slot, call, onReply, &wait, static_cast<std::uint64_t>(patience.count()));
  sd_bus_message_unref(call);
  if (result < 0) co_return failed(std::strerror(-result));
  co_return co_await wait.completion;
}

}  // namespace coffer::engine
