#include <format>
#include <memory>

#include "session.hpp"
#include "task_choice.hpp"
#include "task_view.hpp"
#include "verb.hpp"
#include "verbs.hpp"

namespace coffer::cli {

namespace {

struct Options {
  TaskOption task;
  bool yes = false;
};

Outcome cancelTask(Session& session, const Options& options) {
  auto bus = session.connectForChange();
  if (!bus) return std::unexpected(bus.error());
  const auto task = chooseTask(session, **bus, options.task);
  if (!task) return std::unexpected(task.error());
  const TaskView view((*task)->properties());
  // Whoever names the task has decided; one that was guessed is asked about.
  if (!options.yes && !options.task.id && session.terminal().input && !session.json() &&
      !confirm(std::format("End task {}? Its commits are kept.", view.name())))
    return failure(ExitCode::Failed, "Nothing was cancelled.");
  {
    const auto progress = session.progress("Stopping what runs");
    (*task)->cancel(changeOptions());
  }
  if (session.json())
    session.print(Json().add("Id", view.id));
  else
    session.print(std::format("Task {} is cancelled.\n", view.name()));
  return ExitCode::Done;
}

}  // namespace

void addCancel(CLI::App& parent, Invocation& invocation) {
  const auto options = std::make_shared<Options>();
  Verb verb(parent, invocation, "cancel", "Ends a task; its commits are kept", {"cancel 17"});
  addTaskOption(verb, options->task);
  verb.flag("-y,--yes", options->yes, "Do not ask");
  verb.runs([options](Session& session) { return cancelTask(session, *options); });
}

}  // namespace coffer::cli
