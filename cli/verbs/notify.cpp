#include <algorithm>
#include <format>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "process.hpp"
#include "session.hpp"
#include "verb.hpp"
#include "verbs.hpp"

namespace coffer::cli {

namespace {

constexpr auto kUnit = "coffer-notify.service";
constexpr auto kServer = "org.freedesktop.Notifications";

/// systemctl of the user's own manager; what it has to say goes to standard error.
std::vector<std::string> systemctl(std::initializer_list<std::string> words) {
  std::vector<std::string> command = {"systemctl", "--user"};
  command.insert(command.end(), words);
  return command;
}

std::optional<Failure> elsewhere(const Session& session) {
  if (session.options().host.empty()) return std::nullopt;
  return Failure{
      ExitCode::Usage, {}, "Notifications belong to the desktop in front of you, not to another machine.", {}};
}

std::string propertyOf(const std::string& name) {
  return outputOf(systemctl({"show", "--property=" + name, "--value", kUnit}), "/").value_or(std::string());
}

/// Who would show notifications: somebody who is there, somebody whom the bus can start, or nobody.
std::string serverNow() {
  const auto names = outputOf({"busctl", "--user", "--no-legend", "--full", "list"}, "/").value_or(std::string());
  for (const auto line : linesOf(names)) {
    if (!line.starts_with(kServer) || !line.substr(std::string_view(kServer).size()).starts_with(' ')) continue;
    return line.find("(activatable)") == std::string_view::npos ? "running" : "activatable";
  }
  return "none";
}

Outcome on(Session& session) {
  if (auto wrong = elsewhere(session)) return std::unexpected(std::move(*wrong));
  if (runInteractive(systemctl({"enable", "--quiet", kUnit})) != 0 || runInteractive(systemctl({"start", kUnit})) != 0)
    return failure(ExitCode::Failed, "Notifications could not be switched on for this user's session.",
                   std::format("systemctl --user status {}", kUnit));
  if (session.json()) session.print(Json().add("Enabled", true));
  session.note("Notifications are on, now and whenever you log in to a desktop.\nnext: coffer notify status\n");
  return ExitCode::Done;
}

Outcome off(Session& session) {
  if (auto wrong = elsewhere(session)) return std::unexpected(std::move(*wrong));
  if (runInteractive(systemctl({"disable", "--quiet", "--now", kUnit})) != 0)
    return failure(ExitCode::Failed, "Notifications could not be switched off for this user's session.",
                   std::format("systemctl --user status {}", kUnit));
  if (session.json()) session.print(Json().add("Enabled", false));
  session.note("Notifications are off.\n");
  return ExitCode::Done;
}

Outcome status(Session& session) {
  if (auto wrong = elsewhere(session)) return std::unexpected(std::move(*wrong));
  const auto enabled = propertyOf("UnitFileState");
  if (enabled.empty())
    return failure(ExitCode::Failed, "There is no service manager of this user, or it does not know " +
                                         std::string(kUnit) + "; log in as the user, not by su or sudo.");
  const auto active = propertyOf("ActiveState");
  const auto server = serverNow();
  if (session.json()) {
    session.print(Json().add("Enabled", enabled == "enabled").add("Active", active).add("Server", server));
    return ExitCode::Done;
  }
  Table table({{""}, {""}});
  table.add({{"Notifications", Tone::Faint},
             {enabled == "enabled" ? "on" : "off", enabled == "enabled" ? Tone::Good : Tone::Plain}});
  table.add({{"Now", Tone::Faint}, {active, active == "failed" ? Tone::Bad : Tone::Plain}});
  table.add({{"Shown by", Tone::Faint},
             {server == "running"       ? "a notification server that runs"
              : server == "activatable" ? "a notification server that the bus starts"
                                        : "nobody: no notification server is there",
              server == "none" ? Tone::Attention : Tone::Plain}});
  session.printTable(table);
  if (active == "failed")
    session.note(std::format("next: systemctl --user status {}\n", kUnit));
  else if (enabled != "enabled")
    session.note("next: coffer notify on\n");
  return ExitCode::Done;
}

}  // namespace

void addNotify(CLI::App& parent, Invocation& invocation) {
  auto& group =
      Verb(parent, invocation, "notify", "Notifications on your desktop about what waits for you (off at first)",
           {"notify on", "notify status"})
          .group();
  Verb(group, invocation, "on", "Shows notifications, now and whenever you log in to a desktop", {"notify on"})
      .runs(on);
  Verb(group, invocation, "off", "Shows no notifications any more", {"notify off"}).runs(off);
  Verb(group, invocation, "status", "Whether notifications are on, and who would show them", {"notify status"})
      .runs(status);
}

}  // namespace coffer::cli
