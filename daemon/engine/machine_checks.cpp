#include "engine/machine_checks.hpp"

#include <algorithm>
#include <charconv>
#include <ctime>
#include <format>
#include <vector>

#include "api/authority.hpp"
#include "engine/check_limits.hpp"

namespace coffer::engine {
namespace {

struct Version {
  unsigned major = 0;
  unsigned minor = 0;
  auto operator<=>(const Version&) const = default;
};

constexpr Version kLinux{6, 9};
constexpr Version kSystemd{257, 0};

// The numbers a version begins with; 0.0 for what begins otherwise.
Version versionOf(std::string_view text) {
  Version version;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, version.major);
  if (error == std::errc{} && rest != end && *rest == '.') std::from_chars(rest + 1, end, version.minor);
  return version;
}

bool listsSystemd(std::string_view nsswitch, std::string_view database) {
  while (!nsswitch.empty()) {
    const auto end = nsswitch.find('\n');
    auto line = nsswitch.substr(0, end);
    nsswitch.remove_prefix(end == std::string_view::npos ? nsswitch.size() : end + 1);
    line = line.substr(0, line.find('#'));
    const auto first = line.find_first_not_of(" \t");
    if (first == std::string_view::npos || !line.substr(first).starts_with(database)) continue;
    const std::string words = std::string(line.substr(first + database.size())) + " ";
    return std::ranges::any_of(std::vector<std::string>{" systemd ", "\tsystemd ", " systemd\t", " systemd["},
                               [&](const auto& word) { return words.contains(word); });
  }
  return false;
}

std::string mebibytes(std::uint64_t bytes) { return std::format("{} MiB", bytes >> 20U); }

std::string when(std::uint64_t microseconds) {
  const auto seconds = static_cast<std::time_t>(microseconds / 1'000'000);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  char text[32] = {};
  return {text, std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &parts)};
}

}  // namespace

Check kernelCheck(std::string_view release) {
  const auto found = std::format("Linux {}", release);
  if (versionOf(release) >= kLinux) return good("kernel", found);
  return fails("kernel", found,
               std::format("this kernel is older than Linux {}.{}, so what keeps the network's rules in their place is "
                           "not there",
                           kLinux.major, kLinux.minor),
               std::format("boot Linux {}.{} or newer", kLinux.major, kLinux.minor));
}

Check systemdCheck(const std::expected<std::string, Error>& version) {
  constexpr auto kRemedy = "install systemd 257 or newer, then systemctl daemon-reexec";
  if (!version)
    return fails("systemd", "no answer", "systemd does not say its version (" + version.error().message + ")",
                 "systemctl daemon-reexec");
  const auto found = "systemd " + *version;
  if (versionOf(*version) >= kSystemd) return good("systemd", found);
  return fails("systemd", found, "this systemd is older than 257, so a sandbox's processes would see those of others",
               kRemedy);
}

Check controllerCheck(const std::string& controller, bool missing, bool accepted) {
  const auto name = "cgroup-" + controller;
  if (!missing) return good(name, "limits on " + controller + " hold");
  const auto remedy = "boot with a unified cgroup hierarchy that has the controller " + controller;
  if (accepted)
    return warns(name, "missing, which /etc/cofferdam/cofferd.toml accepts",
                 "limits on " + controller + " do not hold on this machine",
                 remedy + ", then take it out of accept-missing in /etc/cofferdam/cofferd.toml");
  return fails(
      name, "missing",
      "this machine's cgroups lack the " + controller + " controller, so a sandbox's limit on it would not hold",
      remedy +
          ", or let an administrator accept that in /etc/cofferdam/cofferd.toml: "
          "accept-missing = [\"" +
          controller + "\"]");
}

Check nameServiceCheck(std::string_view nsswitch, bool module) {
  constexpr auto kName = "nss-systemd";
  if (!module)
    return fails(kName, "not installed",
                 "the users that sandboxes run as cannot be found, because nss-systemd is not installed",
                 "apt install libnss-systemd");
  std::string lacks;
  for (const auto* database : {"passwd:", "group:"})
    if (!listsSystemd(nsswitch, database)) lacks += (lacks.empty() ? "" : " and ") + std::string(database);
  if (lacks.empty()) return good(kName, "names of our users are found");
  return fails(
      kName, "not used",
      "the users that sandboxes run as cannot be found, because /etc/nsswitch.conf does not name systemd at " + lacks,
      "add the word systemd to the lines " + lacks + " of /etc/nsswitch.conf");
}

Check wallsCheck(const std::expected<void, Error>& answered) {
  if (answered) return good("coffer-walls", "answers");
  const bool other = answered.error().code == ErrorCode::Unsupported;
  return fails("coffer-walls", other ? "of another version" : "no answer", answered.error().message,
               "systemctl restart coffer-walls");
}

Check loopCheck(const std::optional<Error>& why) {
  if (!why) return good("loop-devices", "there is a free one");
  return fails("loop-devices", "none to be had", "no disk image of a task can be mounted (" + why->message + ")",
               "modprobe loop; a container has to be given /dev/loop-control and nodes /dev/loop0, /dev/loop1, ...");
}

Check tableCheck(const std::optional<Error>& why) {
  if (!why) return good("nftables", "the host's table stands and is ours");
  return fails("nftables", "no table of ours",
               "what our own users may send is not held by the host's rules (" + why->message + ")",
               "systemctl restart coffer-walls");
}

Check userNamespaceCheck(const std::optional<Error>& why) {
  if (!why) return good("user-namespaces", "can be made");
  return fails("user-namespaces", "cannot be made",
               "no workspace can be mounted and no sandbox be closed off (" + why->message + ")",
               "sysctl user.max_user_namespaces=10000, and take a smaller number out of /etc/sysctl.d");
}

Check tproxyCheck(const std::optional<Error>& why) {
  if (!why) return good("tproxy", "connections can be handed to a relay");
  return warns("tproxy", "not there", "this kernel hands no connection to a relay (" + why->message + ")",
               "modprobe nft_tproxy; nothing needs it until a project is given a network");
}

Check polkitCheck(const std::expected<std::string, Error>& version) {
  if (version) return good("polkit", "polkit " + *version);
  return fails("polkit", "no answer (" + version.error().message + ")", api::kPolkitAway, api::kPolkitRemedy);
}

Check timeCheck(const std::expected<std::string, Error>& synchronised, std::uint64_t now, std::uint64_t newest) {
  constexpr auto kName = "time";
  constexpr auto kRemedy = "timedatectl set-ntp true";
  const auto found = when(now);
  if (newest > now + static_cast<std::uint64_t>(limits::kClockBack.count()))
    return fails(kName, found,
                 "the clock is before the newest thing that happened here, which was at " + when(newest) +
                     ": what waits for a time waits too long, and certificates may count as not yet valid",
                 kRemedy);
  if (!synchronised)
    return warns(kName, found, "nobody says whether the clock is synchronised (" + synchronised.error().message + ")",
                 "timedatectl");
  if (*synchronised == "true") return good(kName, found + ", synchronised");
  return warns(kName, found, "the clock is not synchronised with anything", kRemedy);
}

Check diskCheck(const DiskSpace& disk, const AdmissionLimits& limits) {
  const auto found = mebibytes(disk.free) + " free, of which " + mebibytes(limits.floorBytes) + " stay free";
  if (disk.free >= limits.floorBytes) return good("disk", found);
  return fails("disk", mebibytes(disk.free) + " free",
               "/var/lib/cofferdam has " + mebibytes(disk.free) + " free, and " + mebibytes(limits.floorBytes) +
                   " have to stay free (free-space-mib in cofferd.toml)",
               "make room on that file system, or coffer delete tasks that have ended");
}

Check shareCheck(const DiskSpace& disk, const UserSpace& user, const AdmissionLimits& limits) {
  constexpr auto kName = "disk-share";
  const auto used = user.images + user.projects;
  const auto most = userTotal(user, limits.taskBytes, disk, limits);
  const auto found = "your tasks and projects take " + mebibytes(used) + " of " + mebibytes(most);
  if (used < most) return good(kName, found);
  return fails(kName, found,
               "what the tasks and projects of one user take has come to the " + mebibytes(most) +
                   " that it may (user-disk-mib in cofferd.toml)",
               "coffer list --all, then accept, cancel or delete tasks, or remove projects");
}

Check configurationCheck(std::size_t number, const std::string& problem) {
  const auto name = number < 2 ? std::string("configuration") : std::format("configuration-{}", number);
  if (problem.empty()) return good(name, "no file has a fault");
  const auto file = problem.substr(0, problem.find(':'));
  return fails(name, "a file that does not count", problem,
               "mend " + (file.starts_with('/') ? file : std::string("that file")) + ", then systemctl reload cofferd");
}

}  // namespace coffer::engine
