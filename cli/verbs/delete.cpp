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

Outcome deleteTask(Session& session, const Options& options) {
  auto bus = session.connectForChange();
  if (!bus) return std::unexpected(bus.error());
  const auto task = chooseTask(session, **bus, options.task);
  if (!task) return std::unexpected(task.error());
  const TaskView view((*task)->properties());
  if (!options.yes && session.terminal().input && !session.json() &&
      !confirm(std::format("Remove everything of task {}? Its commits in your repository stay.", view.name())))
    return failure(ExitCode::Failed, "Nothing was deleted.");
  {
    const auto progress = session.progress("Removing the task");
    (*task)->erase(changeOptions());
  }
  if (session.json())
    session.print(Json().add("Id", view.id));
  else
    session.print(std::format("Task {} is deleted.\n", view.name()));
  return ExitCode::Done;
}

}  // namespace

void addDelete(CLI::App& parent, Invocation& invocation) {
  const auto options = std::make_shared<Options>();
  Verb verb(parent, invocation, "delete", "Removes everything of an ended task but one line of history", {"delete 17"});
  addTaskOption(verb, options->task);
  verb.flag("-y,--yes", options->yes, "Do not ask");
  verb.runs([options](Session& session) { return deleteTask(session, *options); });
}

}  // namespace coffer::cli
