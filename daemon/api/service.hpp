#pragma once

#include <memory>

#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>

#include "api/authority.hpp"
#include "api/backend.hpp"
#include "api/bouncer.hpp"
#include "api/connections.hpp"
#include "api/descriptors.hpp"
#include "api/dispatcher.hpp"
#include "api/interfaces.hpp"
#include "api/subscriptions.hpp"
#include "api/waits.hpp"
#include "api/watches.hpp"

namespace coffer::api {

/// The whole bus side: answers calls on the connection from backend's data, and tells subscribers what backend tells.
/// Loop, bus, backend and authority outlive it. It does not ask for the bus name.
class Service {
 public:
  Service(sd_event* loop, sd_bus* bus, Backend& backend, Authority& authority, Identify identify = identifyByBus,
          Bouncer bouncer = Bouncer());
  ~Service();
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  /// From now on calls are answered. Negative errno when the bus refuses.
  [[nodiscard]] int start();
  [[nodiscard]] const Interfaces& interfaces() const { return interfaces_; }

 private:
  Backend& backend_;
  Bouncer bouncer_;
  Descriptors descriptors_;
  Connections connections_;
  Interfaces interfaces_;
  Watches watches_;
  Waits waits_;
  Subscriptions subscriptions_;
  Dispatcher dispatcher_;
};

}  // namespace coffer::api
