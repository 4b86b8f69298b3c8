#include <format>
#include <memory>

#include "model/visible_text.hpp"
#include "session.hpp"
#include "shown_digests.hpp"
#include "task_choice.hpp"
#include "task_text.hpp"
#include "task_view.hpp"
#include "verb.hpp"
#include "verbs.hpp"

namespace coffer::cli {

namespace {

Outcome plan(Session& session, const TaskOption& option) {
  auto bus = session.connect();
  if (!bus) return std::unexpected(bus.error());
  const auto task = chooseTask(session, **bus, option);
  if (!task) return std::unexpected(task.error());
  const auto text = session.during("Reading the plan", [&] { return readTaskText(**task, "plan"); });
  if (session.json()) {
    session.print(Json().add("Id", *session.task()).add("Plan", text.text).add("Digest", text.digest));
    return ExitCode::Done;
  }
  auto shown = model::visibleText(text.text);
  if (!shown.ends_with('\n')) shown += '\n';
  session.printLong(shown);
  if (!text.cut) ShownDigests::ofUser().remember(text.digest, currentTime());
  session.note(std::format("\ndigest {}\n", text.digest));
  const TaskView view((*task)->properties());
  if (view.allows("accept-plan"))
    session.note("next: " + session.command(std::format("accept {}", view.id)) +
                 "   or: " + session.command(std::format("reply {} \"...\"", view.id)) + "\n");
  return ExitCode::Done;
}

}  // namespace

void addPlan(CLI::App& parent, Invocation& invocation) {
  const auto option = std::make_shared<TaskOption>();
  Verb verb(parent, invocation, "plan", "Shows a task's plan and its digest", {"plan 17", "plan 17 --json"});
  addTaskOption(verb, *option);
  verb.runs([option](Session& session) { return plan(session, *option); });
}

}  // namespace coffer::cli
