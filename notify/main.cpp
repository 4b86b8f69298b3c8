#include <array>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <string>

#include <sdbus-c++/sdbus-c++.h>
#include <sys/signalfd.h>
#include <systemd/sd-bus.h>
#include <systemd/sd-daemon.h>
#include <systemd/sd-event.h>

#include "notify/notifier.hpp"
#include "os/log.hpp"

namespace {

using coffer::notify::Notifier;

struct Closer {
  void operator()(sd_event* loop) const { sd_event_unref(loop); }
};

/// A connection whose messages the loop handles, and whose end is the loop's: the service manager starts us again.
std::unique_ptr<sdbus::IConnection> opened(sd_event* loop, int (*open)(sd_bus**, const char*), const char* what) {
  sd_bus* bus = nullptr;
  const int error = open(&bus, "coffer-notify");
  if (error < 0) throw sdbus::Error(sdbus::Error::Name(what), std::strerror(-error));
  sd_bus_set_exit_on_disconnect(bus, 1);
  // Whoever presses a button can be asked for a password; reading needs none.
  sd_bus_set_allow_interactive_authorization(bus, 1);
  auto connection = sdbus::createBusConnection(bus);
  if (sd_bus_attach_event(bus, loop, SD_EVENT_PRIORITY_NORMAL) < 0)
    throw sdbus::Error(sdbus::Error::Name(what), "it cannot be waited for");
  return connection;
}

int onEnd(sd_event_source* source, const signalfd_siginfo*, void* data) {
  sd_notify(0, "STOPPING=1");
  // What stays on the screen without us would have buttons that do nothing. The connection sends it before it closes,
  // which it does when the loop ends.
  static_cast<Notifier*>(data)->clear();
  return sd_event_exit(sd_event_source_get_event(source), 0);
}

int run() {
  sd_event* made = nullptr;
  if (sd_event_default(&made) < 0) return EXIT_FAILURE;
  const std::unique_ptr<sd_event, Closer> loop(made);
  const auto system = opened(loop.get(), sd_bus_open_system_with_description, "system bus");
  const auto session = opened(loop.get(), sd_bus_open_user_with_description, "session bus");
  Notifier notifier(loop.get(), *system, *session);
  for (const int number : {SIGTERM, SIGINT})
    sd_event_add_signal(loop.get(), nullptr, number | SD_EVENT_SIGNAL_PROCMASK, onEnd, &notifier);
  sd_notify(0, "READY=1");
  return sd_event_loop(loop.get());
}

}  // namespace

int main() {
  coffer::log::setIdentifier("coffer-notify");
  try {
    const int ended = run();
    // sd-bus ends the loop with an error of its own when a bus went away.
    return ended == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
  } catch (const std::exception& error) {
    coffer::log::error(std::string("cannot go on: ") + error.what());
    return EXIT_FAILURE;
  }
}
