#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include <systemd/sd-bus.h>

#include "api/backend.hpp"
#include "api/call.hpp"
#include "api/interfaces.hpp"
#include "api/waits.hpp"
#include "api/watches.hpp"

namespace coffer::api {

/// Tells those who subscribed what happens, each only what they may see and each by a message of their own: what the
/// bus delivers to everyone is that a task changed, and nothing else.
class Subscriptions : public Observer {
 public:
  Subscriptions(sd_bus* bus, const Backend& backend, const Interfaces& interfaces, Watches& watches, Waits& waits)
      : bus_(bus), backend_(backend), interfaces_(interfaces), watches_(watches), waits_(waits) {}

  /// The caller's connection gets signals from now on; of one task, or of others too.
  void subscribe(Call& call, std::optional<std::uint64_t> task, bool allUsers);
  void unsubscribe(Call& call);
  void gone(const std::string& sender);

  void taskChanged(std::uint64_t task, std::uint64_t sequence) override;
  void event(const EventView& event) override;
  void objectAdded(ObjectKind kind, std::uint64_t id) override;
  void objectRemoved(ObjectKind kind, std::uint64_t id, Ownership owner) override;
  void objectChanged(ObjectKind kind, std::uint64_t id) override;

 private:
  struct Subscriber {
    Caller caller;
    std::optional<std::uint64_t> task;
    bool allUsers = false;
  };
  [[nodiscard]] static bool wants(const Subscriber& subscriber, ObjectKind kind, std::uint64_t id, Ownership owner);
  /// One signal for each subscriber that may and wants to know; `fill` appends its arguments.
  template <class Fill>
  void tell(ObjectKind kind, std::uint64_t id, Ownership owner, const std::string& path, std::string_view interface,
            const char* member, Fill fill);
  void propertiesChanged(ObjectKind kind, std::uint64_t id);

  sd_bus* bus_;
  const Backend& backend_;
  const Interfaces& interfaces_;
  Watches& watches_;
  Waits& waits_;
  std::map<std::string, Subscriber, std::less<>> subscribers_;
};

}  // namespace coffer::api
