#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include <systemd/sd-bus.h>

#include "api/message.hpp"

namespace coffer::api {

/// Tells when a connection that something is kept for has gone. Each costs a match rule at the bus, so only subscribers
/// and waiters are watched, and no more than limits::kWatchedConnections.
class Watches {
 public:
  Watches(sd_bus* bus, std::function<void(const std::string& sender)> gone) : bus_(bus), gone_(std::move(gone)) {}

  /// One more reason to watch; false when there are too many connections.
  [[nodiscard]] bool add(std::string_view sender);
  /// One reason less.
  void remove(std::string_view sender);
  [[nodiscard]] std::size_t size() const { return watched_.size(); }

 private:
  struct Watch {
    Watches* self = nullptr;
    std::string sender;
    std::size_t reasons = 0;
    Slot match;
    Slot question;
  };
  static int onOwnerChanged(sd_bus_message* signal, void* data, sd_bus_error* error);
  /// A rule the bus refuses would end our connection if nobody looked at the answer.
  static int onInstalled(sd_bus_message* reply, void* data, sd_bus_error* error);
  static int onHasOwner(sd_bus_message* reply, void* data, sd_bus_error* error);
  void lost(Watch& watch);

  sd_bus* bus_;
  std::function<void(const std::string&)> gone_;
  std::map<std::string, std::unique_ptr<Watch>, std::less<>> watched_;
};

}  // namespace coffer::api
