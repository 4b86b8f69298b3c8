#include "notify/terminal.hpp"

#include <array>
#include <format>
#include <string_view>
#include <utility>

#include <systemd/sd-id128.h>
#include <unistd.h>

#include "os/log.hpp"

namespace coffer::notify {

namespace {

constexpr auto kSystemd = "org.freedesktop.systemd1";
constexpr auto kSystemdPath = "/org/freedesktop/systemd1";
constexpr auto kSystemdManager = "org.freedesktop.systemd1.Manager";

/// The task's number is its argument; the shell that stays is for the commands it proposes.
constexpr auto kScript = R"(unset XDG_ACTIVATION_TOKEN; coffer show "$1"; exec "${SHELL:-/bin/sh}")";

using Setting = sdbus::Struct<std::string, sdbus::Variant>;
using Command = sdbus::Struct<std::string, std::vector<std::string>, bool>;
using Extra = sdbus::Struct<std::string, std::vector<Setting>>;

std::string_view valueIn(const std::vector<std::string>& environment, std::string_view name) {
  for (const std::string_view entry : environment)
    if (entry.starts_with(name) && entry.substr(name.size()).starts_with('=')) return entry.substr(name.size() + 1);
  return {};
}

}  // namespace

std::optional<std::vector<std::string>> terminalIn(const std::vector<std::string>& environment,
                                                   const std::function<bool(const std::string& path)>& runnable) {
  if (valueIn(environment, "WAYLAND_DISPLAY").empty() && valueIn(environment, "DISPLAY").empty()) return std::nullopt;
  auto folders = valueIn(environment, "PATH");
  if (folders.empty()) folders = "/usr/local/bin:/usr/bin:/bin";
  const auto find = [&](std::string_view name) -> std::optional<std::string> {
    if (name.starts_with('/')) return runnable(std::string(name)) ? std::optional(std::string(name)) : std::nullopt;
    // A path that is not absolute depends on where one stands.
    if (name.empty() || name.find('/') != std::string_view::npos) return std::nullopt;
    for (auto rest = folders; !rest.empty();) {
      const auto folder = rest.substr(0, rest.find(':'));
      rest.remove_prefix(std::min(folder.size() + 1, rest.size()));
      auto path = std::format("{}/{}", folder, name);
      if (folder.starts_with('/') && runnable(path)) return path;
    }
    return std::nullopt;
  };
  if (auto path = find("xdg-terminal-exec")) return std::vector{*path};
  for (const auto name : {valueIn(environment, "TERMINAL"), std::string_view("x-terminal-emulator")})
    if (auto path = find(name)) return std::vector<std::string>{*path, "-e"};
  return std::nullopt;
}

Terminal::Terminal(sdbus::IConnection& bus)
    : systemd_(sdbus::createProxy(bus, sdbus::ServiceName(kSystemd), sdbus::ObjectPath(kSystemdPath))) {}

void Terminal::show(std::uint64_t task, const std::string& token, std::function<void()> failed) {
  // The manager's environment and not ours: a session may have brought its display after we were started.
  systemd_->getPropertyAsync("Environment")
      .onInterface(kSystemdManager)
      .uponReplyInvoke([this, task, token, failed = std::move(failed)](std::optional<sdbus::Error> error,
                                                                       const sdbus::Variant& value) {
        const bool known = !error && value.containsValueOfType<std::vector<std::string>>();
        const auto environment = known ? value.get<std::vector<std::string>>() : std::vector<std::string>{};
        const auto words =
            terminalIn(environment, [](const std::string& path) { return access(path.c_str(), X_OK) == 0; });
        if (!words) return failed();
        start(*words, task, token, failed);
      });
}

void Terminal::start(const std::vector<std::string>& words, std::uint64_t task, const std::string& token,
                     const std::function<void()>& failed) {
  auto command = words;
  for (const auto& word :
       {std::string("/bin/sh"), std::string("-c"), std::string(kScript), std::string("coffer"), std::to_string(task)})
    command.push_back(word);
  sd_id128_t random{};
  sd_id128_randomize(&random);
  std::array<char, SD_ID128_STRING_MAX> id{};
  // As desktops name the units of their applications.
  const auto unit = std::format("app-coffer@{}.service", sd_id128_to_string(random, id.data()));
  std::vector<Setting> settings = {
      {"Description", sdbus::Variant(std::format("Terminal that shows task {}", task))},
      {"Slice", sdbus::Variant(std::string("app.slice"))},
      {"CollectMode", sdbus::Variant(std::string("inactive-or-failed"))},
      // Some terminals hand over to a process of theirs and end.
      {"ExitType", sdbus::Variant(std::string("cgroup"))},
      {"ExecStart", sdbus::Variant(std::vector<Command>{{command.front(), command, false}})},
  };
  if (!token.empty())
    settings.emplace_back("Environment", sdbus::Variant(std::vector<std::string>{"XDG_ACTIVATION_TOKEN=" + token}));
  systemd_->callMethodAsync("StartTransientUnit")
      .onInterface(kSystemdManager)
      .withArguments(unit, "fail", settings, std::vector<Extra>{})
      .uponReplyInvoke([failed](std::optional<sdbus::Error> error, const sdbus::ObjectPath&) {
        if (!error) return;
        log::warning("no terminal could be opened: " + error->getMessage());
        failed();
      });
}

}  // namespace coffer::notify
