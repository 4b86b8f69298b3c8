#include <algorithm>
#include <format>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "configuration_problems.hpp"
#include "model/visible_text.hpp"
#include "project_choice.hpp"
#include "session.hpp"
#include "verb.hpp"
#include "verbs.hpp"

namespace coffer::cli {

namespace {

/// What is wrong in the files of the agents it is to be worked on by; where it leaves a role to the machine, that of
/// the machine.
std::vector<std::string> faultsOf(const Dictionary& project, const std::vector<std::string>& all) {
  constexpr std::size_t kRoles = 3;
  const auto agents = mapOf(project, "Agents");
  std::set<std::string> names;
  for (const auto& [role, agent] : agents)
    names.insert(agent.substr(0, agent.find_first_of(":/@")));
  std::vector<std::string> faults;
  for (const auto& name : names)
    std::ranges::copy(problemsOf(all, "agents", name), std::back_inserter(faults));
  if (agents.size() < kRoles) std::ranges::copy(problemsOf(all, "cofferdam", "cofferd"), std::back_inserter(faults));
  return faults;
}

Outcome show(Session& session, const std::string& name) {
  auto bus = session.connect();
  if (!bus) return std::unexpected(bus.error());
  const auto chosen = chooseProject(session, **bus, name);
  if (!chosen) return std::unexpected(chosen.error());
  const auto& project = chosen->properties;
  const auto faults = faultsOf(project, configurationProblems(**bus));
  if (session.json()) {
    session.print(Json::of(project).add("Path", chosen->path).add("ConfigurationProblems", faults));
    return ExitCode::Done;
  }
  session.print(session.paint()(Tone::Strong, model::visibleText(textOf(project, "Name"))) + "\n");
  Table table({{""}, {""}});
  const auto add = [&](const std::string& label, const std::string& value) {
    if (!value.empty()) table.add({{label, Tone::Faint}, {model::visibleText(value)}});
  };
  add("Directory", textOf(project, "DirectoryText"));
  if (const auto author = textOf(project, "AuthorName"); !author.empty())
    add("Author", author + " <" + textOf(project, "AuthorEmail") + ">");
  add("Base", shortCommit(textOf(project, "Base")));
  for (const auto& command : textsOf(project, "Build"))
    add("Build", command);
  for (const auto& command : textsOf(project, "Test"))
    add("Test", command);
  add("Rounds", std::to_string(smallNumberOf(project, "Rounds")));
  if (const auto budget = numberOf(project, "Budget"); budget != 0) add("Budget", countText(budget) + " tokens a task");
  for (const auto& [role, agent] : mapOf(project, "Agents"))
    add("Agent", role + " = " + agent);
  for (const auto& [point, who] : mapOf(project, "Policy"))
    add("Policy", point + " = " + who);
  for (const auto& [role, profile] : mapOf(project, "Networks"))
    add("Network", role + " = " + profile);
  // Commands are read in full or not at all, so nothing is cut to the terminal's width.
  session.print(table.text(session.paint(), std::nullopt, "  "));
  for (const auto& fault : faults)
    session.print("  " + session.paint()(Tone::Bad, "Fault") + "  " + model::visibleText(fault) + "\n");
  return ExitCode::Done;
}

}  // namespace

void addProjectShow(CLI::App& parent, Invocation& invocation) {
  const auto name = std::make_shared<std::string>();
  Verb verb(parent, invocation, "show", "One project: directory, checks, agents, policy", {"project show zlib"});
  verb.option("NAME", *name, "Its name, by default the project of the current directory");
  verb.runs([name](Session& session) { return show(session, *name); });
}

}  // namespace coffer::cli
