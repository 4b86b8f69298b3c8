#include <algorithm>
#include <format>
#include <string>
#include <vector>

#include "configuration_problems.hpp"
#include "dbus/names.hpp"
#include "model/visible_text.hpp"
#include "session.hpp"
#include "task_choice.hpp"
#include "task_view.hpp"
#include "verbs.hpp"

namespace coffer::cli {

namespace {

std::string groupText(const Session& session, const std::string& heading, const std::vector<TaskView>& views,
                      std::uint64_t now) {
  if (views.empty()) return {};
  std::string text = session.paint()(Tone::Strong, heading) + "\n";
  for (const auto& view : views) {
    const auto width = session.terminal().width;
    const auto name = "  " + view.name();
    text += (width ? fitted(name, *width) : name) + "\n";
    text += "    " + session.paint()(view.tone(), view.where()) +
            session.paint()(Tone::Faint, ", " + relativeTime(view.changed, now)) + "\n";
    std::string commands;
    for (const auto& command : view.nextCommands())
      commands += (commands.empty() ? "" : "   ") + session.command(command);
    text += "    " + commands + "\n";
  }
  return text;
}

}  // namespace

Outcome overview(Session& session) {
  auto bus = session.connect();
  if (!bus) return std::unexpected(bus.error());
  const auto tasks =
      session.during("Reading the tasks", [&] { return allTasks(**bus, {{"ended", sdbus::Variant(false)}}); });
  std::vector<TaskView> waiting;
  std::vector<TaskView> running;
  for (const auto& task : tasks) {
    TaskView view(task);
    (view.needsYou() ? waiting : running).push_back(std::move(view));
  }
  const auto problems = configurationProblems(**bus);
  if (session.json()) {
    session.print(Json().add("Tasks", Json::of(tasks)).add("ConfigurationProblems", problems));
    return ExitCode::Done;
  }
  const auto now = currentTime();
  session.printLong(groupText(session, "Waiting for you", waiting, now) + groupText(session, "Going on", running, now));
  if (tasks.empty()) {
    const auto projects = (*bus)->manager().objects(names::kProject);
    session.print("Nothing waits for you and nothing goes on.\n");
    session.print("next: " + session.command(projects.empty() ? "project add DIR --test COMMAND" : "new \"...\"") +
                  "\n");
  }
  if (!problems.empty())
    session.print(
        session.paint()(Tone::Attention,
                        problems.size() == 1
                            ? "A configuration file has a fault and does not count"
                            : std::format("{} configuration files have faults and do not count", problems.size())) +
        ": " + session.command("doctor") + "\n");
  return ExitCode::Done;
}

}  // namespace coffer::cli
