#include "api/watches.hpp"

#include <cstdint>
#include <format>

#include "model/limits.hpp"

namespace coffer::api {
namespace {

constexpr auto kBus = "org.freedesktop.DBus";
constexpr auto kBusPath = "/org/freedesktop/DBus";

}  // namespace

bool Watches::add(std::string_view sender) {
  if (const auto found = watched_.find(sender); found != watched_.end()) {
    ++found->second->reasons;
    return true;
  }
  if (watched_.size() == limits::kWatchedConnections) return false;
  auto watch = std::make_unique<Watch>();
  watch->self = this;
  watch->sender = sender;
  watch->reasons = 1;
  const auto rule =
      std::format("type='signal',sender='{0}',path='{1}',interface='{0}',member='NameOwnerChanged',arg0='{2}'", kBus,
                  kBusPath, sender);
  if (sd_bus_add_match_async(bus_, watch->match.out(), rule.c_str(), &Watches::onOwnerChanged, &Watches::onInstalled,
                             watch.get()) < 0)
    return false;
  // It may have gone before the rule was there; the bus answers in order, so this question comes after the rule.
  if (sd_bus_call_method_async(bus_, watch->question.out(), kBus, kBusPath, kBus, "NameHasOwner", &Watches::onHasOwner,
                               watch.get(), "s", watch->sender.c_str()) < 0)
    return false;
  watched_.emplace(watch->sender, std::move(watch));
  return true;
}

void Watches::remove(std::string_view sender) {
  const auto found = watched_.find(sender);
  if (found != watched_.end() && --found->second->reasons == 0) watched_.erase(found);
}

int Watches::onOwnerChanged(sd_bus_message* signal, void* data, sd_bus_error*) {
  // The rule names the bus as the sender, but what somebody sends to our own name reaches us without passing a rule of
  // the bus, and sd-bus cannot tell the owners of well-known names apart.
  const char* from = sd_bus_message_get_sender(signal);
  if (from == nullptr || std::string_view(from) != kBus) return 0;
  const char* name = nullptr;
  const char* before = nullptr;
  const char* after = nullptr;
  if (sd_bus_message_read(signal, "sss", &name, &before, &after) > 0 && *after == '\0') {
    auto& watch = *static_cast<Watch*>(data);
    watch.self->lost(watch);
  }
  return 0;
}

int Watches::onInstalled(sd_bus_message* reply, void* data, sd_bus_error*) {
  auto& watch = *static_cast<Watch*>(data);
  if (sd_bus_message_is_method_error(reply, nullptr) > 0) watch.self->lost(watch);
  return 0;
}

int Watches::onHasOwner(sd_bus_message* reply, void* data, sd_bus_error*) {
  int there = 0;
  auto& watch = *static_cast<Watch*>(data);
  if (sd_bus_message_is_method_error(reply, nullptr) > 0 || sd_bus_message_read(reply, "b", &there) <= 0 || there == 0)
    watch.self->lost(watch);
  return 0;
}

void Watches::lost(Watch& watch) {
  const auto sender = watch.sender;
  watched_.erase(sender);
  gone_(sender);
}

}  // namespace coffer::api
