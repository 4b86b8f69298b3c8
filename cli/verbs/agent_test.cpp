#include <cstdint>
#include <format>
#include <map>
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
  std::string provider;
};

std::string report(const Session& session, const std::string& name, const Dictionary& result) {
  Table table({{""}, {""}});
  const auto add = [&](const std::string& label, const std::string& value, Tone tone = Tone::Plain) {
    if (!value.empty()) table.add({{label, Tone::Faint}, {value, tone}});
  };
  const auto said = [&](const char* key) { return firstLine(model::visibleText(textOf(result, key))); };
  const bool answered = valueOf<bool>(result, "Answered");
  const bool resumed = valueOf<bool>(result, "Resumed");
  add("Answered", answered ? "yes: " + said("Answer") : "no", answered ? Tone::Good : Tone::Bad);
  add("Session", said("Session"));
  if (answered) add("Resumed", resumed ? "yes: " + said("ResumedAnswer") : "no", resumed ? Tone::Good : Tone::Bad);
  add("Problem", said("Problem"), Tone::Bad);
  std::string usage;
  for (const auto& [kind, amount] : valueOf<std::map<std::string, std::uint64_t>>(result, "Usage"))
    usage += std::format("{}{} {}", usage.empty() ? "" : ", ", countText(amount), model::visibleText(kind));
  add("Usage", usage);
  return session.paint()(Tone::Strong, model::visibleText(name)) + "\n" +
         table.text(session.paint(), std::nullopt, "  ");
}

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
  if (!options.provider.empty()) call.emplace("provider", sdbus::Variant(options.provider));
  Dictionary result;
  {
    const auto progress = session.progress("Waiting for two turns of " + model::visibleText(options.name));
    result = (*bus)->agent(*path)->test(call);
  }
  const bool good = valueOf<bool>(result, "Answered") && valueOf<bool>(result, "Resumed");
  if (session.json()) {
    session.print(Json::of(result));
    return good ? ExitCode::Done : ExitCode::Failed;
  }
  session.print(report(session, options.name, result));
  return good ? ExitCode::Done : ExitCode::Failed;
}

}  // namespace

void addAgentTest(CLI::App& parent, Invocation& invocation) {
  const auto options = std::make_shared<Options>();
  Verb verb(parent, invocation, "test", "Runs two small turns of an agent in a sandbox and tells what happened",
            {"agent test codex"});
  verb.option("NAME", options->name, "Its name").required();
  verb.option("--model", options->model, "Which model it is to ask");
  verb.option("--provider", options->provider, "Whose key it is to spend; by default the first that serves it");
  verb.runs([options](Session& session) { return test(session, *options); });
}

}  // namespace coffer::cli
