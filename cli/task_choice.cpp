#include "task_choice.hpp"

#include <algorithm>
#include <format>
#include <iterator>
#include <utility>

#include "task_view.hpp"

namespace coffer::cli {

namespace {

/// As many as one call gives.
constexpr std::uint32_t kTasksPerCall = 1000;
/// More than these do not help in choosing one.
constexpr std::size_t kNamed = 8;

std::unexpected<Failure> ambiguous(const Session& session, const std::vector<Dictionary>& tasks,
                                   std::string_view what) {
  std::string message = std::format("{} tasks {}, so name one:", tasks.size(), what);
  for (std::size_t i = 0; i < tasks.size() && i < kNamed; ++i)
    message += "\n  " + TaskView(tasks[i]).name();
  return usageFailure(std::move(message), session.command("list"));
}

}  // namespace

void addTaskOption(Verb& verb, TaskOption& option) {
  verb.option("TASK", option.id, "Number of the task; may be left out when exactly one waits for you");
  verb.flag("--all-users", option.allUsers, "The task may be somebody else's; needs an administrator");
}

std::vector<Dictionary> allTasks(Connection& bus, const Dictionary& filter) {
  std::vector<Dictionary> result;
  std::uint64_t cursor = 0;
  do {
    auto [tasks, next] = bus.manager().listTasks(filter, cursor, kTasksPerCall);
    std::ranges::move(tasks, std::back_inserter(result));
    cursor = next;
  } while (cursor != 0);
  return result;
}

void seeAllUsers(Session& session, Connection& bus) {
  session.startAgent();
  session.during("Asking to see what is others'",
                 [&] { return bus.manager().listTasks({{"all-users", sdbus::Variant(true)}}, 0, 1); });
}

std::expected<std::unique_ptr<TaskClient>, Failure> chooseTask(Session& session, Connection& bus,
                                                               const TaskOption& option, WhenMissing missing) {
  if (option.id) {
    session.about(*option.id);
    if (option.allUsers) seeAllUsers(session, bus);
    return bus.task(session.during("Looking for the task", [&] { return bus.manager().getTask(*option.id); }));
  }
  if (option.allUsers)
    return usageFailure("Of the tasks of all users, name the one you mean.", session.command("list --all-users"));
  const auto which = [&](const char* filter, bool value) {
    return session.during("Looking for the task", [&] { return allTasks(bus, {{filter, sdbus::Variant(value)}}); });
  };
  auto tasks = which("waiting", true);
  std::string_view what = "wait for you";
  if (tasks.empty() && missing == WhenMissing::WaitingOrLive) {
    tasks = which("ended", false);
    what = "are going on";
  }
  if (tasks.empty()) {
    return usageFailure(missing == WhenMissing::Waiting ? "No task waits for you, so name the one you mean."
                                                        : "No task is going on, so name the one you mean.",
                        session.command("list --all"));
  }
  if (tasks.size() > 1) return ambiguous(session, tasks, what);
  const TaskView view(tasks.front());
  session.about(view.id);
  session.note(session.paint()(Tone::Faint, "Task " + view.name()) + "\n");
  return bus.task(bus.manager().getTask(view.id));
}

}  // namespace coffer::cli
