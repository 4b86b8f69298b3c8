#include "person_checks.hpp"

#include <algorithm>
#include <cstdlib>
#include <format>
#include <memory>
#include <optional>

#include <grp.h>
#include <pwd.h>
#include <systemd/sd-bus.h>
#include <systemd/sd-login.h>
#include <unistd.h>

#include "dbus/names.hpp"
#include "format.hpp"
#include "process.hpp"

namespace coffer::cli {

namespace {

constexpr auto kBusPolicy = "/usr/share/dbus-1/system.d/org.cofferdam.Cofferdam1.conf";

Dictionary check(const std::string& name, const std::string& state, const std::string& text,
                 const std::string& problem = {}, const std::string& remedy = {}) {
  return {{"name", sdbus::Variant(name)},
          {"state", sdbus::Variant(state)},
          {"text", sdbus::Variant(text)},
          {"problem", sdbus::Variant(problem)},
          {"remedy", sdbus::Variant(remedy)}};
}

std::string userName() {
  const auto* entry = ::getpwuid(::getuid());
  return entry != nullptr ? entry->pw_name : std::to_string(::getuid());
}

/// Whether this process has the group; whether the user is named as a member of it, which counts from the next login.
struct Membership {
  bool there = false;
  bool counts = false;
  bool named = false;
};

Membership membership() {
  Membership result;
  const auto* group = ::getgrnam(std::string(names::kGroup).c_str());
  if (group == nullptr) return result;
  result.there = true;
  const auto gid = group->gr_gid;
  const auto name = userName();
  for (auto* const* member = group->gr_mem; *member != nullptr; ++member)
    result.named = result.named || name == *member;
  std::vector<gid_t> groups(static_cast<std::size_t>(std::max(::getgroups(0, nullptr), 0)));
  const int count = ::getgroups(static_cast<int>(groups.size()), groups.data());
  groups.resize(static_cast<std::size_t>(std::max(count, 0)));
  result.counts = ::getegid() == gid || std::ranges::contains(groups, gid);
  return result;
}

/// "active" (at the machine, and in front), "inactive", or empty without a session.
std::string session() {
  char* raw = nullptr;
  if (::sd_pid_get_session(0, &raw) < 0) return {};
  const std::unique_ptr<char, decltype(&std::free)> id(raw, &std::free);
  // polkit calls only that active which has a seat: not one over ssh.
  char* seat = nullptr;
  const bool seated = ::sd_session_get_seat(id.get(), &seat) >= 0;
  std::free(seat);
  return seated && ::sd_session_is_active(id.get()) > 0 ? "active" : "inactive";
}

/// What systemctl says of a unit, by property.
std::map<std::string, std::string> unitState(const std::string& unit) {
  std::map<std::string, std::string> state;
  const auto shown =
      outputOf({"systemctl", "show", "--property=LoadState,ActiveState,SubState,Result,StatusText", unit}, "/")
          .value_or(std::string());
  for (const auto line : linesOf(shown))
    if (const auto equals = line.find('='); equals != std::string_view::npos)
      state.emplace(line.substr(0, equals), line.substr(equals + 1));
  return state;
}

Dictionary unitCheck(const std::string& name) {
  const auto unit = name + ".service";
  auto state = unitState(unit);
  if (state.empty())
    return check(name, "failed", "systemctl does not say", "systemctl does not say how " + unit + " is",
                 "systemctl status " + name);
  const auto found = std::format("{} ({})", state["ActiveState"], state["SubState"]);
  if (state["LoadState"] == "not-found")
    return check(name, "failed", "not installed", "there is no " + unit + " on this machine", "apt install cofferdam");
  if (state["LoadState"] == "masked")
    return check(name, "failed", "masked", unit + " is masked, so nothing starts it", "systemctl unmask " + name);
  if (state["ActiveState"] == "active") return check(name, "ok", found);
  if (state["ActiveState"] == "failed" || state["SubState"] == "auto-restart")
    return check(name, "failed", found,
                 unit + " does not start (" + state["Result"] + ")" +
                     (state["StatusText"].empty() ? "" : ": " + state["StatusText"]),
                 "journalctl -u " + name + " -n 20 says why; then systemctl restart " + name);
  return check(name, "failed", found, unit + " does not run", "systemctl start " + name);
}

}  // namespace

Dictionary personCheck() {
  constexpr auto kName = "you";
  const auto name = userName();
  if (::getuid() == 0) return check(kName, "ok", "root: may decide on everybody's tasks, and owns none");
  const auto group = membership();
  if (group.counts) return check(kName, "ok", std::format("{} is in the group {}", name, names::kGroup));
  const auto where = session();
  if (where == "active") return check(kName, "ok", std::format("{} is in an active session", name));
  const auto found = where.empty() ? "in no session" : "in a session that is not active, as over ssh";
  if (group.named)
    return check(kName, "warning", std::format("{}, {}", name, found),
                 std::format("you have been made a member of the group {} since you logged in", names::kGroup),
                 "log out and in again");
  return check(kName, "warning", std::format("{}, {}, and not in the group {}", name, found, names::kGroup),
               "each decision wants an administrator's password",
               group.there ? std::format("adduser {} {}, then log out and in again", name, names::kGroup)
                           : std::format("addgroup --system {}; adduser {} {}", names::kGroup, name, names::kGroup));
}

bool refusedByBus(const Failure& failure) { return failure.name == "org.freedesktop.DBus.Error.AccessDenied"; }

std::vector<Dictionary> serviceChecks(const Failure& why) {
  std::vector<Dictionary> checks;
  const bool booted = ::access("/run/systemd/system", F_OK) == 0;
  checks.push_back(booted ? check("systemd", "ok", "runs as the first process")
                          : check("systemd", "failed", "does not run",
                                  "systemd is not the first process of this machine, and Cofferdam needs it",
                                  "boot with systemd"));
  sd_bus* raw = nullptr;
  const int opened = ::sd_bus_open_system(&raw);
  ::sd_bus_flush_close_unref(raw);
  checks.push_back(opened >= 0 ? check("bus", "ok", "the system bus answers")
                               : check("bus", "failed", "no system bus", "the system bus cannot be reached",
                                       "systemctl start dbus.socket"));
  if (booted)
    for (const auto* daemon : {"coffer-walls", "cofferd"})
      checks.push_back(unitCheck(daemon));
  if (::access(kBusPolicy, R_OK) != 0)
    checks.push_back(check("bus-policy", "failed", "not there",
                           std::string("the bus lets nobody call Cofferdam: ") + kBusPolicy + " is not there",
                           "apt install --reinstall cofferdam"));
  else if (refusedByBus(why))
    checks.push_back(
        check("bus-policy", "failed", "refuses", "the bus refuses the call: " + why.message, "systemctl reload dbus"));
  else
    checks.push_back(check("bus-policy", "ok", kBusPolicy));
  return checks;
}

}  // namespace coffer::cli
