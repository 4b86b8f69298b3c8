// Starts one command in exactly the unit that an agent gets, and tells how it ended: what the probes of the sandbox's
// tests run in.
//   run-sandbox NAME USER UID IN OUT WORKSPACE HOME NETNS OUTPUT
// IN holds the file `command` of coffer-init. Prints the unit's end as PID 1 recorded it.

#include <cstdlib>
#include <iostream>
#include <memory>

#include <systemd/sd-event.h>

#include "sandbox/sealed.hpp"
#include "sandbox/systemd.hpp"

using namespace coffer;
using namespace coffer::sandbox;

namespace {

Detached run(Systemd& systemd, std::shared_ptr<const Unit> unit, sd_event* event) {
  auto started = co_await systemd.startUnit(unit);
  if (!started) {
    std::cout << "not started: " << started.error().message << std::endl;
    const auto state = co_await systemd.state(unit->name);
    if (state && state->loaded)
      std::cout << "result " << state->end.result << " status " << state->end.status << std::endl;
    co_await systemd.remove(unit->name);
    sd_event_exit(event, 1);
    co_return;
  }
  auto end = co_await systemd.waitForEnd(unit->name);
  if (end && *end)
    std::cout << "result " << (*end)->result << " code " << (*end)->code << " status " << (*end)->status << std::endl;
  else
    std::cout << "lost" << std::endl;
  co_await systemd.remove(unit->name);
  sd_event_exit(event, 0);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 10) return 2;
  sd_event* event = nullptr;
  sd_bus* bus = nullptr;
  if (sd_event_default(&event) < 0 || sd_bus_open_system(&bus) < 0 || sd_bus_attach_event(bus, event, 0) < 0) return 1;
  AgentSpec spec;
  spec.sealed.name = argv[1];
  spec.sealed.slice = "coffer-test.slice";
  spec.sealed.identity = {static_cast<std::uint32_t>(std::strtoul(argv[3], nullptr, 10)), argv[2]};
  spec.sealed.command = {{"/usr/libexec/cofferdam/coffer-init.static"}};
  spec.sealed.in = argv[4];
  spec.sealed.out = argv[5];
  spec.workspace = argv[6];
  spec.home = argv[7];
  spec.namespacePath = argv[8];
  spec.agents = "/opt/agents";
  spec.sealed.standardOutput = std::string(argv[9]) + ".out";
  spec.sealed.standardError = std::string(argv[9]) + ".err";
  spec.sealed.limits = {std::uint64_t{2} << 30U, 512, 300'000'000, 0};
  Systemd systemd(bus);
  if (auto ready = systemd.start(); !ready) {
    std::cout << ready.error().message << std::endl;
    return 1;
  }
  run(systemd, std::make_shared<Unit>(agentUnit(spec)), event);
  const int r = sd_event_loop(event);
  sd_bus_flush_close_unref(bus);
  sd_event_unref(event);
  return r;
}
