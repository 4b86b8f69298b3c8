#include <format>
#include <memory>
#include <string>

#include "dbus/names.hpp"
#include "model/visible_text.hpp"
#include "session.hpp"
#include "task_choice.hpp"
#include "verb.hpp"
#include "verbs.hpp"

namespace coffer::cli {

namespace {

struct Options {
  std::string name;
  bool yes = false;
  bool allUsers = false;
};

/// The project's object: by its name, or among those of everybody by its number.
std::expected<sdbus::ObjectPath, Failure> pathOf(Session& session, Connection& bus, const Options& options) {
  if (!options.allUsers) return bus.manager().getProject(options.name);
  seeAllUsers(session, bus);
  for (const auto& project : bus.manager().objects(names::kProject))
    if (std::to_string(numberOf(project.properties, "Id")) == options.name) return project.path;
  return failure(ExitCode::NotFound, "There is no project of that number: with --all-users a project is named by it.",
                 session.command("project list --all-users"));
}

Outcome remove(Session& session, const Options& options) {
  auto bus = session.connectForChange();
  if (!bus) return std::unexpected(bus.error());
  const auto named = pathOf(session, **bus, options);
  if (!named) return std::unexpected(named.error());
  const auto& path = *named;
  if (!options.yes && session.terminal().input && !session.json() &&
      !confirm(std::format("Forget the project {}? Your repository stays as it is.", model::visibleText(options.name))))
    return failure(ExitCode::Failed, "Nothing was removed.");
  {
    const auto progress = session.progress("Removing the project's store");
    (*bus)->project(path)->remove(changeOptions());
  }
  if (session.json())
    session.print(Json().add("Path", path).add("Removed", true));
  else
    session.print(std::format("Project {} is removed.\n", model::visibleText(options.name)));
  return ExitCode::Done;
}

}  // namespace

void addProjectRemove(CLI::App& parent, Invocation& invocation) {
  const auto options = std::make_shared<Options>();
  Verb verb(parent, invocation, "remove", "Forgets a project; the repository is not touched", {"project remove zlib"});
  verb.option("NAME", options->name, "Its name").required();
  verb.flag("--all-users", options->allUsers,
            "NAME is the number of somebody's or nobody's project; needs an administrator");
  verb.flag("-y,--yes", options->yes, "Do not ask");
  verb.runs([options](Session& session) { return remove(session, *options); });
}

}  // namespace coffer::cli
