#include <format>
#include <memory>
#include <string>
#include <vector>

#include "dbus/names.hpp"
#include "model/visible_text.hpp"
#include "session.hpp"
#include "task_choice.hpp"
#include "verb.hpp"
#include "verbs.hpp"

namespace coffer::cli {

namespace {

struct Options {
  bool allUsers = false;
};

Outcome list(Session& session, const Options& options) {
  auto bus = options.allUsers ? session.connectForChange() : session.connect();
  if (!bus) return std::unexpected(bus.error());
  if (options.allUsers) seeAllUsers(session, **bus);
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
  std::vector<Table::Column> columns = {{"NAME"}, {"BASE"}, {"CHECKS", Align::Right}, {"DIRECTORY"}};
  // Names are each user's own: somebody else's project is named by its number.
  if (options.allUsers) columns.insert(columns.begin(), {{"PROJECT", Align::Right}, {"OWNER"}});
  Table table(columns);
  for (const auto& [path, project] : projects) {
    std::vector<Cell> row = {{model::visibleText(textOf(project, "Name")), Tone::Strong},
                             {shortCommit(textOf(project, "Base"))},
                             {std::to_string(textsOf(project, "Build").size() + textsOf(project, "Test").size())},
                             {model::visibleText(textOf(project, "DirectoryText"))}};
    if (options.allUsers) {
      const auto owner = smallNumberOf(project, "Owner");
      row.insert(row.begin(),
                 {{std::to_string(numberOf(project, "Id"))}, {owner == kNobody ? "nobody" : std::to_string(owner)}});
    }
    table.add(row);
  }
  session.printTable(table);
  return ExitCode::Done;
}

}  // namespace

void addProjectList(CLI::App& parent, Invocation& invocation) {
  const auto options = std::make_shared<Options>();
  Verb verb(parent, invocation, "list", "Your projects", {"project list", "project list --json"});
  verb.flag("--all-users", options->allUsers, "Those of everybody, with their numbers; needs an administrator");
  verb.runs([options](Session& session) { return list(session, *options); });
}

}  // namespace coffer::cli
