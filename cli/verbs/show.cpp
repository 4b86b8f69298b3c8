#include <memory>
#include <string>
#include <utility>

#include "model/visible_text.hpp"
#include "session.hpp"
#include "task_choice.hpp"
#include "task_details.hpp"
#include "task_text.hpp"
#include "task_view.hpp"
#include "verb.hpp"
#include "verbs.hpp"

namespace coffer::cli {

namespace {

struct Options {
  TaskOption task;
  bool answer = false;
  bool leftOut = false;
};

// One text of it whole, as an agent or Git wrote it.
Outcome showText(Session& session, TaskClient& task, const std::string& what, const std::string& name) {
  const auto text = session.during("Reading the " + what, [&] { return readTaskText(task, what); });
  if (session.json()) {
    session.print(Json().add("Id", *session.task()).add(name, text.text).add("Digest", text.digest));
    return ExitCode::Done;
  }
  auto shown = model::visibleText(text.text);
  if (!shown.empty() && !shown.ends_with('\n')) shown += '\n';
  session.printLong(shown);
  return ExitCode::Done;
}

Outcome show(Session& session, const Options& options) {
  auto bus = session.connect();
  if (!bus) return std::unexpected(bus.error());
  const auto task = chooseTask(session, **bus, options.task, WhenMissing::WaitingOrLive);
  if (!task) return std::unexpected(task.error());
  if (options.answer) return showText(session, **task, "answer", "Answer");
  if (options.leftOut) return showText(session, **task, "left-out", "LeftOut");
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
  const auto options = std::make_shared<Options>();
  Verb verb(parent, invocation, "show", "One task: state, question, runs, what its sandboxes were refused",
            {"show 17", "show 17 --answer", "show 17 --json"});
  addTaskOption(verb, options->task);
  verb.flag("--answer", options->answer, "What the writer last answered, whole");
  verb.flag("--left-out", options->leftOut, "Which changed paths are not in the commit that it works on");
  verb.runs([options](Session& session) { return show(session, *options); });
}

}  // namespace coffer::cli
