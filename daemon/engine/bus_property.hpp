#pragma once

#include <chrono>
#include <expected>
#include <string>

#include <systemd/sd-bus.h>

#include "dbus/error.hpp"
#include "os/async.hpp"

namespace coffer::engine {

/// A property of somebody else's object on the bus.
struct BusProperty {
  std::string service;
  std::string path;
  std::string interface;
  std::string name;
};

/// What PID 1 says of itself.
inline const BusProperty kSystemdVersion{"org.freedesktop.systemd1", "/org/freedesktop/systemd1",
                                         "org.freedesktop.systemd1.Manager", "Version"};

/// Its value: a text as it is, a truth value as "true" or "false". Starts the service where the bus may. Environment
/// when there is no answer in that time, or one of another type.
Async<std::expected<std::string, Error>> readProperty(sd_bus* bus, BusProperty property,
                                                      std::chrono::microseconds patience);

}  // namespace coffer::engine
