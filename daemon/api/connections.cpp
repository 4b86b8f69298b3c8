#include "api/connections.hpp"

#include "model/limits.hpp"

namespace coffer::api {

std::optional<uid_t> identifyByBus(sd_bus* bus, const std::string& sender) {
  sd_bus_creds* creds = nullptr;
  // Only the effective uid, and only as the bus daemon recorded it when the connection was made: nothing is augmented
  // from /proc.
  if (sd_bus_get_name_creds(bus, sender.c_str(), SD_BUS_CREDS_EUID, &creds) < 0) return std::nullopt;
  const std::unique_ptr<sd_bus_creds, decltype(&sd_bus_creds_unref)> owned(creds, &sd_bus_creds_unref);
  uid_t uid = 0;
  if (sd_bus_creds_get_euid(creds, &uid) < 0) return std::nullopt;
  return uid;
}

std::optional<Caller> Connections::caller(std::string_view sender) {
  if (const auto found = byName_.find(sender); found != byName_.end()) {
    known_.splice(known_.begin(), known_, found->second);
    auto& [name, caller, seesUntil, met] = *found->second;
    if (caller.uid != 0 && caller.administrator) caller.administrator = now_() < seesUntil;
    return caller;
  }
  const auto uid = identify_(bus_, std::string(sender));
  if (!uid) return std::nullopt;
  if (known_.size() == limits::kKnownConnections) {
    byName_.erase(known_.back().sender);
    known_.pop_back();
  }
  known_.push_front({std::string(sender), Caller{.uid = *uid, .administrator = *uid == 0}, {}, *uid == 0});
  byName_.emplace(std::string(sender), known_.begin());
  return known_.front().caller;
}

bool Connections::isMet(std::string_view sender) const {
  const auto found = byName_.find(sender);
  return found != byName_.end() && found->second->met;
}

void Connections::meet(std::string_view sender) {
  if (const auto found = byName_.find(sender); found != byName_.end()) found->second->met = true;
}

void Connections::makeAdministrator(std::string_view sender) {
  const auto found = byName_.find(sender);
  if (found == byName_.end()) return;
  found->second->caller.administrator = true;
  found->second->seesUntil = now_() + std::chrono::microseconds(limits::kSeeOtherTime);
}

}  // namespace coffer::api
