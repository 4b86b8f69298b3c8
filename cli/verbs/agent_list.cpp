#include <string>
#include <vector>

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
  const auto agents = (*bus)->manager().objects(names::kAgent);
  if (session.json()) {
    std::vector<Json> entries;
    for (const auto& agent : agents)
      entries.push_back(std::move(Json::of(agent.properties).add("Path", agent.path)));
    session.print(Json().add("Agents", std::move(entries)));
    return ExitCode::Done;
  }
  if (agents.empty()) {
    session.note("No agent is known; their files are in /usr/lib/cofferdam/agents.\n");
    return ExitCode::Done;
  }
  Table table({{"NAME"}, {"VERSION"}, {"PROVIDERS"}, {"RUNNING", Align::Right}, {"STATE"}});
  for (const auto& [path, agent] : agents) {
    const bool installed = valueOf<bool>(agent, "Installed");
    const auto problem = firstLine(model::visibleText(textOf(agent, "Problem")));
    const bool usable = installed && problem.empty();
    table.add(
        {{model::visibleText(textOf(agent, "Name")), Tone::Strong},
         {model::visibleText(textOf(agent, "Version"))},
         {model::visibleText(textOf(agent, "Protocol"))},
         {std::to_string(smallNumberOf(agent, "Running"))},
         {usable ? "ready" : (problem.empty() ? "not installed" : problem), usable ? Tone::Good : Tone::Attention}});
  }
  session.printTable(table);
  return ExitCode::Done;
}

}  // namespace

void addAgentList(CLI::App& parent, Invocation& invocation) {
  Verb verb(parent, invocation, "list", "Known agents, and whether they can be used", {"agent list"});
  verb.runs(list);
}

}  // namespace coffer::cli
