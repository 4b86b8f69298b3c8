#include <algorithm>
#include <string>
#include <vector>

#include "configuration_problems.hpp"
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
  const auto agents = session.during("Looking for agents", [&] { return (*bus)->manager().objects(names::kAgent); });
  const auto faults = configurationProblems(**bus);
  if (session.json()) {
    std::vector<Json> entries;
    for (const auto& agent : agents)
      entries.push_back(std::move(Json::of(agent.properties).add("Path", agent.path)));
    session.print(Json().add("Agents", std::move(entries)).add("ConfigurationProblems", faults));
    return ExitCode::Done;
  }
  if (agents.empty() && faults.empty()) {
    session.note("No agent is known; their files are in /usr/lib/cofferdam/agents.\n");
    return ExitCode::Done;
  }
  Table table({{"NAME"}, {"PROVIDERS"}, {"RUNNING", Align::Right}, {"WHERE"}, {"STATE"}});
  for (const auto& [path, agent] : agents) {
    const bool installed = valueOf<bool>(agent, "Installed");
    const auto problem = firstLine(model::visibleText(textOf(agent, "Problem")));
    const bool usable = installed && problem.empty();
    table.add(
        {{model::visibleText(textOf(agent, "Name")), Tone::Strong},
         {model::visibleText(textOf(agent, "Protocol"))},
         {std::to_string(smallNumberOf(agent, "Running"))},
         {model::visibleText(textOf(agent, "Executable"))},
         {usable ? "ready" : (problem.empty() ? "not installed" : problem), usable ? Tone::Good : Tone::Attention}});
  }
  // A fault leaves what was good before; where nothing was, there is no such agent.
  for (const auto& name : namesWithProblems(faults, "agents")) {
    const auto known =
        std::ranges::any_of(agents, [&](const auto& agent) { return textOf(agent.properties, "Name") == name; });
    if (!known) table.add({{model::visibleText(name), Tone::Strong}, {}, {}, {}, {"its file has a fault", Tone::Bad}});
  }
  if (!table.empty()) session.printTable(table);
  for (const auto& name : namesWithProblems(faults, "agents"))
    for (const auto& fault : problemsOf(faults, "agents", name))
      session.note(model::visibleText(fault) + "\n");
  return ExitCode::Done;
}

}  // namespace

void addAgentList(CLI::App& parent, Invocation& invocation) {
  Verb verb(parent, invocation, "list", "Known agents, where they are, and whether they can be used", {"agent list"});
  verb.runs(list);
}

}  // namespace coffer::cli
