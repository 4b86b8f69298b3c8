#include <format>
#include <memory>
#include <optional>
#include <string>

#include "dbus/names.hpp"
#include "model/visible_text.hpp"
#include "session.hpp"
#include "verb.hpp"
#include "verbs.hpp"

namespace coffer::cli {

namespace {

struct Options {
  std::string name;
  std::string model;
};

Outcome test(Session& session, const Options& options) {
  auto bus = session.connectForChange();
  if (!bus) return std::unexpected(bus.error());
  std::optional<sdbus::ObjectPath> path;
  for (const auto& agent : (*bus)->manager().objects(names::kAgent))
    if (textOf(agent.properties, "Name") == options.name) path = agent.path;
  if (!path)
    return failure(ExitCode::NotFound, std::format("There is no agent \"{}\".", options.name),
                   session.command("agent list"));
  auto call = changeOptions();
  if (!options.model.empty()) call.emplace("model", sdbus::Variant(options.model));
  std::uint64_t run = 0;
  {
    const auto progress = session.progress("Waiting for a turn of " + model::visibleText(options.name));
    run = (*bus)->agent(*path)->test(call);
  }
  if (session.json())
    session.print(Json().add("Run", run));
  else
    session.print(
        std::format("Agent {} was asked in a sandbox of its own: run {}.\n", model::visibleText(options.name), run));
  return ExitCode::Done;
}

}  // namespace

void addAgentTest(CLI::App& parent, Invocation& invocation) {
  const auto options = std::make_shared<Options>();
  Verb verb(parent, invocation, "test", "Runs one small turn of an agent in a sandbox", {"agent test codex"});
  verb.option("NAME", options->name, "Its name").required();
  verb.option("--model", options->model, "Which model it is to ask");
  verb.runs([options](Session& session) { return test(session, *options); });
}

}  // namespace coffer::cli
