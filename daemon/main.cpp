#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <format>
#include <memory>
#include <string>

#include <systemd/sd-bus.h>
#include <systemd/sd-daemon.h>
#include <systemd/sd-event.h>
#include <unistd.h>

#include "api/polkit_authority.hpp"
#include "api/service.hpp"
#include "api/version.hpp"
#include "dbus/names.hpp"
#include "engine/engine.hpp"
#include "os/log.hpp"

// Wiring only: loop, bus, what answers on it, and what systemd expects of a service.

namespace {

using namespace coffer;

template <class T, T* (*Unref)(T*)>
struct Release {
  void operator()(T* object) const { Unref(object); }
};
using Loop = std::unique_ptr<sd_event, Release<sd_event, sd_event_unref>>;
using Bus = std::unique_ptr<sd_bus, Release<sd_bus, sd_bus_flush_close_unref>>;

/// What a failed start says; systemd starts us again.
int failed(const char* what, int result) {
  log::error(std::format("{}: {}", what, std::strerror(-result)));
  return EXIT_FAILURE;
}

void announceReloading() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  const auto microseconds = static_cast<unsigned long long>(now.tv_sec) * 1'000'000ULL +
                            static_cast<unsigned long long>(now.tv_nsec) / 1000ULL;
  sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%llu", microseconds);
}

int onReload(sd_event_source*, const signalfd_siginfo*, void* data) {
  auto& backend = *static_cast<api::Backend*>(data);
  announceReloading();
  backend.reload({.caller = {.uid = 0, .administrator = true}, .id = {}}, [](const auto& outcome) {
    if (!outcome) log::error(outcome.error().message);
    sd_notify(0, "READY=1");
  });
  return 0;
}

int onStop(sd_event_source* source, const signalfd_siginfo*, void*) {
  sd_notify(0, "STOPPING=1");
  return sd_event_exit(sd_event_source_get_event(source), EXIT_SUCCESS);
}

int run() {
  sd_event* rawLoop = nullptr;
  if (const int result = sd_event_default(&rawLoop); result < 0) return failed("no event loop", result);
  const Loop loop(rawLoop);

  sd_bus* rawBus = nullptr;
  if (const int result = sd_bus_open_system_with_description(&rawBus, "cofferd"); result < 0)
    return failed("the system bus cannot be reached", result);
  const Bus bus(rawBus);
  if (const int result = sd_bus_attach_event(bus.get(), loop.get(), SD_EVENT_PRIORITY_NORMAL); result < 0)
    return failed("the bus cannot be attached to the loop", result);
  // Without the bus nobody can be told anything and no unit be asked for; systemd starts us again when it is back.
  sd_bus_set_exit_on_disconnect(bus.get(), 1);

  engine::Engine backend(loop.get(), bus.get());
  api::PolkitAuthority authority(bus.get());
  api::Service service(loop.get(), bus.get(), backend, authority);

  constexpr int kBlocked = SD_EVENT_SIGNAL_PROCMASK;
  for (const int signal : {SIGTERM, SIGINT})
    if (const int result = sd_event_add_signal(loop.get(), nullptr, signal | kBlocked, onStop, nullptr); result < 0)
      return failed("signals cannot be watched", result);
  if (const int result =
          sd_event_add_signal(loop.get(), nullptr, SIGHUP | kBlocked, onReload, static_cast<api::Backend*>(&backend));
      result < 0)
    return failed("signals cannot be watched", result);
  if (const int result = sd_event_set_watchdog(loop.get(), 1); result < 0)
    return failed("the watchdog cannot be fed", result);

  if (const auto started = backend.start(); !started) {
    log::error(started.error().message);
    return EXIT_FAILURE;
  }
  // Calls are answered before the name is ours, so that none that it attracts finds nobody.
  if (const int result = service.start(); result < 0) return failed("calls cannot be answered", result);
  if (const int result = sd_bus_request_name(bus.get(), std::string(names::kBus).c_str(), 0); result < 0)
    return failed("the bus name is not to be had", result);

  log::write(log::Level::Info, std::format("cofferd {} is ready", kVersion), {}, names::kMessageStarted);
  sd_notifyf(0, "READY=1\nSTATUS=Answering on %s", std::string(names::kBus).c_str());
  const int result = sd_event_loop(loop.get());
  if (result < 0) return failed("the loop ended", result);
  return result;
}

}  // namespace

int main() {
  // Started by hand, what is said is seen; under systemd it goes to the journal with its fields.
  if (::isatty(STDERR_FILENO) != 0) log::setTarget(log::Target::Console);
  return run();
}
