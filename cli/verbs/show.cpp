#include <memory>
#include <string>
#include <utility>

#include "session.hpp"
#include "task_choice.hpp"
#include "task_details.hpp"
#include "task_view.hpp"
#include "verb.hpp"
#include "verbs.hpp"

namespace coffer::cli {

namespace {

Outcome show(Session& session, const TaskOption& option) {
  auto bus = session.connect();
  if (!bus) return std::unexpected(bus.error());
  const auto task = chooseTask(session, **bus, option, WhenMissing::WaitingOrLive);
  if (!task) return std::unexpected(task.error());
  const auto [properties, runs] =
      session.during("Reading the task", [&] { return std::pair((*task)->properties(), (*task)->listRuns()); });
  if (session.json()) {
    session.print(Json::of(properties).add("Path", (*task)->path()).add("Runs", Json::of(runs)));
    return ExitCode::Done;
  }
  const auto now = currentTime();
  const TaskView view(properties);
  const auto& paint = session.paint();
  const auto width = session.terminal().width;
  std::string text = paint(Tone::Strong, view.name()) + "\n" + painted(linesOf(fieldsOf(properties, now)), paint);
  for (const auto& part : {questionLines(properties), runLines(runs, now, width), refusalLines(properties, width)})
    if (!part.empty()) text += "\n" + painted(part, paint);
  session.printLong(text);
  std::string next;
  for (const auto& command : view.nextCommands())
    next += (next.empty() ? "\nnext: " : "   ") + session.command(command);
  session.note(next + "\n");
  return ExitCode::Done;
}

}  // namespace

void addShow(CLI::App& parent, Invocation& invocation) {
  const auto option = std::make_shared<TaskOption>();
  Verb verb(parent, invocation, "show", "One task: state, question, runs, what its sandboxes were refused",
            {"show 17", "show 17 --json"});
  addTaskOption(verb, *option);
  verb.runs([option](Session& session) { return show(session, *option); });
}

}  // namespace coffer::cli
