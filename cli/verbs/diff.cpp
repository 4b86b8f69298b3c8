#include <format>
#include <memory>

#include "diff_text.hpp"
#include "session.hpp"
#include "shown_digests.hpp"
#include "task_choice.hpp"
#include "task_text.hpp"
#include "task_view.hpp"
#include "verb.hpp"
#include "verbs.hpp"

namespace coffer::cli {

namespace {

struct Options {
  TaskOption task;
  bool stat = false;
};

Outcome diff(Session& session, const Options& options) {
  auto bus = session.connect();
  if (!bus) return std::unexpected(bus.error());
  const auto task = chooseTask(session, **bus, options.task);
  if (!task) return std::unexpected(task.error());
  const auto text = session.during("Reading the diff", [&] { return readTaskText(**task, "diff"); });
  if (session.json()) {
    session.print(Json().add("Id", *session.task()).add("Diff", text.text).add("Digest", text.digest));
    return ExitCode::Done;
  }
  const auto shown = visibleDiff(text.text);
  if (options.stat) {
    session.print(summaryOf(filesOf(shown), session.paint()));
    return ExitCode::Done;
  }
  session.printLong(paintedDiff(shown, session.paint()));
  if (text.cut)
    session.note("The diff is longer than what is shown here; see the whole in its commit.\n");
  else
    ShownDigests::ofUser().remember(text.digest, currentTime());
  session.note(std::format("\ndigest {}\n", text.digest));
  const TaskView view((*task)->properties());
  if (view.allows("accept-work"))
    session.note("next: " + session.command(std::format("accept {}", view.id)) +
                 "   or: " + session.command(std::format("reply {} \"...\"", view.id)) + "\n");
  return ExitCode::Done;
}

}  // namespace

void addDiff(CLI::App& parent, Invocation& invocation) {
  const auto options = std::make_shared<Options>();
  Verb verb(parent, invocation, "diff", "Shows what a task would land, and its digest", {"diff 17", "diff 17 --stat"});
  addTaskOption(verb, options->task);
  verb.flag("--stat", options->stat, "Only which files, and by how many lines");
  verb.runs([options](Session& session) { return diff(session, *options); });
}

}  // namespace coffer::cli
