#include <cstdint>
#include <format>
#include <memory>
#include <optional>
#include <string>

#include "session.hpp"
#include "task_choice.hpp"
#include "task_view.hpp"
#include "verb.hpp"
#include "verbs.hpp"

namespace coffer::cli {

namespace {

struct Options {
  TaskOption task;
  std::string from;
  std::optional<std::uint64_t> budget;
};

Outcome retryTask(Session& session, const Options& options) {
  auto bus = session.connectForChange();
  if (!bus) return std::unexpected(bus.error());
  const auto task = chooseTask(session, **bus, options.task);
  if (!task) return std::unexpected(task.error());
  auto call = changeOptions();
  if (!options.from.empty()) call.emplace("from", sdbus::Variant(options.from));
  if (options.budget) call.emplace("budget", sdbus::Variant(*options.budget));
  session.during("Going on", [&] { (*task)->retry(call); });
  const TaskView view((*task)->properties());
  if (session.json()) {
    session.print(Json().add("Id", view.id));
    return ExitCode::Done;
  }
  session.print(std::format("Task {} goes on{}.\n", view.name(), options.from.empty() ? "" : " from " + options.from));
  session.note("next: " + session.command(std::format("watch {}", view.id)) + "\n");
  return ExitCode::Done;
}

}  // namespace

void addRetry(CLI::App& parent, Invocation& invocation) {
  const auto options = std::make_shared<Options>();
  Verb verb(parent, invocation, "retry", "Goes on with a task that stands still, failed or was cancelled",
            {"retry 17", "retry 17 --from gate"});
  addTaskOption(verb, options->task);
  verb.option("--from", options->from, "plan, write, gate or review; by default where it stopped");
  verb.option("--budget", options->budget, "How many tokens its turns may cost in all from now on; 0: no limit");
  verb.runs([options](Session& session) { return retryTask(session, *options); });
}

}  // namespace coffer::cli
