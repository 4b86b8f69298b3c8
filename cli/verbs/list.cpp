#include <memory>
#include <string>
#include <vector>

#include "model/visible_text.hpp"
#include "session.hpp"
#include "task_choice.hpp"
#include "task_view.hpp"
#include "verb.hpp"
#include "verbs.hpp"

namespace coffer::cli {

namespace {

struct Options {
  bool all = false;
  bool waiting = false;
  bool allUsers = false;
  std::string project;
  std::vector<std::string> states;
};

Outcome list(Session& session, const Options& options) {
  auto bus = options.allUsers ? session.connectForChange() : session.connect();
  if (!bus) return std::unexpected(bus.error());
  Dictionary filter;
  if (!options.all && options.states.empty()) filter.emplace("ended", sdbus::Variant(false));
  if (options.all) filter.emplace("deleted", sdbus::Variant(true));
  if (options.waiting) filter.emplace("waiting", sdbus::Variant(true));
  if (options.allUsers) filter.emplace("all-users", sdbus::Variant(true));
  if (!options.states.empty()) filter.emplace("state", sdbus::Variant(options.states));
  if (!options.project.empty())
    filter.emplace("project", sdbus::Variant((*bus)->manager().getProject(options.project)));
  const auto tasks = session.during("Reading the tasks", [&] { return allTasks(**bus, filter); });
  if (session.json()) {
    session.print(Json().add("Tasks", Json::of(tasks)));
    return ExitCode::Done;
  }
  if (tasks.empty()) {
    session.note(options.all ? "There are no tasks.\n" : "Nothing is going on; --all shows what has ended.\n");
    return ExitCode::Done;
  }
  const auto now = currentTime();
  Table table({{"TASK", Align::Right}, {"PROJECT"}, {"STATE", Align::Left, Fit::Shared}, {"CHANGED"}, {"TITLE"}});
  for (const auto& task : tasks) {
    const TaskView view(task);
    table.add({{std::to_string(view.id), Tone::Strong},
               {view.project},
               {view.where(), view.tone()},
               {relativeTime(view.changed, now), Tone::Faint},
               {view.title}});
  }
  session.printTable(table);
  return ExitCode::Done;
}

}  // namespace

void addList(CLI::App& parent, Invocation& invocation) {
  const auto options = std::make_shared<Options>();
  Verb verb(parent, invocation, "list", "Your tasks, newest first",
            {"list", "list --all -p zlib", "list --state failed --json"});
  verb.flag("-a,--all", options->all, "Ended ones too, and what is left of deleted ones");
  verb.flag("-w,--waiting", options->waiting, "Only what waits for you");
  verb.option("-p,--project", options->project, "Only of this project");
  verb.option("--state", options->states, "Only in this state");
  verb.flag("--all-users", options->allUsers, "Those of everybody; needs an administrator");
  verb.runs([options](Session& session) { return list(session, *options); });
}

}  // namespace coffer::cli
