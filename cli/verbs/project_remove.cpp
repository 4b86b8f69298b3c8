#include <format>
#include <memory>
#include <string>

#include "model/visible_text.hpp"
#include "session.hpp"
#include "verb.hpp"
#include "verbs.hpp"

namespace coffer::cli {

namespace {

struct Options {
  std::string name;
  bool yes = false;
};

Outcome remove(Session& session, const Options& options) {
  auto bus = session.connectForChange();
  if (!bus) return std::unexpected(bus.error());
  const auto path = (*bus)->manager().getProject(options.name);
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
  verb.flag("-y,--yes", options->yes, "Do not ask");
  verb.runs([options](Session& session) { return remove(session, *options); });
}

}  // namespace coffer::cli
