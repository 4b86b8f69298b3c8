#include <format>

#include "dbus/names.hpp"
#include "model/visible_text.hpp"
#include "session.hpp"
#include "verb.hpp"
#include "verbs.hpp"

namespace coffer::cli {

namespace {

Outcome list(Session& session) {
  auto bus = session.connect();
  if (!bus) return std::unexpected(bus.error());
  const auto projects =
      session.during("Looking for projects", [&] { return (*bus)->manager().objects(names::kProject); });
  if (session.json()) {
    std::vector<Json> entries;
    for (const auto& project : projects)
      entries.push_back(std::move(Json::of(project.properties).add("Path", project.path)));
    session.print(Json().add("Projects", std::move(entries)));
    return ExitCode::Done;
  }
  if (projects.empty()) {
    session.note("There are no projects.\nnext: " + session.command("project add DIR --test COMMAND") + "\n");
    return ExitCode::Done;
  }
  Table table({{"NAME"}, {"BASE"}, {"CHECKS", Align::Right}, {"DIRECTORY"}});
  for (const auto& [path, project] : projects)
    table.add({{model::visibleText(textOf(project, "Name")), Tone::Strong},
               {shortCommit(textOf(project, "Base"))},
               {std::to_string(textsOf(project, "Build").size() + textsOf(project, "Test").size())},
               {model::visibleText(textOf(project, "DirectoryText"))}});
  session.printTable(table);
  return ExitCode::Done;
}

}  // namespace

void addProjectList(CLI::App& parent, Invocation& invocation) {
  Verb verb(parent, invocation, "list", "Your projects", {"project list", "project list --json"});
  verb.runs(list);
}

}  // namespace coffer::cli
