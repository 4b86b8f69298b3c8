#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include <sys/types.h>
#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>

namespace coffer::api::test {

struct Unref {
  void operator()(sd_event* loop) const { sd_event_unref(loop); }
  void operator()(sd_bus* bus) const { sd_bus_flush_close_unref(bus); }
};
using Loop = std::unique_ptr<sd_event, Unref>;
using Bus = std::unique_ptr<sd_bus, Unref>;

/// A dbus-daemon of the test's own, without any restriction but the default one on listening to others' messages.
class PrivateBus {
 public:
  PrivateBus();
  ~PrivateBus();
  PrivateBus(const PrivateBus&) = delete;
  PrivateBus& operator=(const PrivateBus&) = delete;

  [[nodiscard]] const std::string& address() const { return address_; }
  /// A new connection, said hello, on the loop.
  [[nodiscard]] Bus connect(sd_event* loop) const;

 private:
  std::filesystem::path directory_;
  std::string address_;
  pid_t daemon_ = -1;
};

}  // namespace coffer::api::test
