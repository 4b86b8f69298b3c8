#include <cstdint>
#include <format>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "assignment.hpp"
#include "model/visible_text.hpp"
#include "project_choice.hpp"
#include "session.hpp"
#include "verb.hpp"
#include "verbs.hpp"

namespace coffer::cli {

namespace {

struct Options {
  std::string name;
  std::vector<std::string> build;
  std::vector<std::string> test;
  std::vector<std::string> agents;
  std::vector<std::string> policy;
  std::optional<std::uint64_t> rounds;
  std::optional<std::uint64_t> budget;
};

/// The commands as they are to be; one empty command is none at all.
void addCommands(Dictionary& call, const std::string& key, std::vector<std::string> commands) {
  if (commands.empty()) return;
  std::erase(commands, "");
  call.emplace(key, sdbus::Variant(commands));
}

Outcome set(Session& session, const Options& options) {
  // An empty value takes an entry away, so an agent without a name is one here.
  const auto agents = parseAgents(options.agents, session.options().host, Emptiness::Allowed);
  if (!agents) return std::unexpected(agents.error());
  const auto policy = parseAssignments(options.policy, "--policy", "landing=auto");
  if (!policy) return std::unexpected(policy.error());
  Dictionary call;
  addCommands(call, "build", options.build);
  addCommands(call, "test", options.test);
  if (!agents->empty()) call.emplace("agents", sdbus::Variant(*agents));
  if (!policy->empty()) call.emplace("policy", sdbus::Variant(*policy));
  if (options.rounds) call.emplace("rounds", smallNumber(*options.rounds));
  if (options.budget) call.emplace("budget", sdbus::Variant(*options.budget));
  if (call.empty()) return usageFailure("Say what is to be set.", session.command("project set --help"));
  call.merge(changeOptions());

  auto bus = session.connectForChange();
  if (!bus) return std::unexpected(bus.error());
  const auto chosen = chooseProject(session, **bus, options.name);
  if (!chosen) return std::unexpected(chosen.error());
  const auto client = (*bus)->project(chosen->path);
  session.during("Changing the project", [&] { client->set(call); });
  const auto project = client->properties();
  if (session.json()) {
    session.print(Json::of(project).add("Path", chosen->path));
    return ExitCode::Done;
  }
  const auto name = model::visibleText(textOf(project, "Name"));
  session.print(std::format(
      "Project {} is changed: commands count from the next gate on, everything else for new tasks.\n", name));
  session.note("next: " + session.command("project show " + name) + "\n");
  return ExitCode::Done;
}

}  // namespace

void addProjectSet(CLI::App& parent, Invocation& invocation) {
  const auto options = std::make_shared<Options>();
  Verb verb(parent, invocation, "set", "Changes what is given and leaves the rest",
            {"project set --test 'make test'", "project set zlib --policy landing=auto --agent writer=codex"});
  verb.option("NAME", options->name, "Its name, by default the project of the current directory");
  verb.option("--build", options->build, "Command that builds it, in place of those there were; '' for none");
  verb.option("--test", options->test, "Command that tests it, in place of those there were; '' for none");
  verb.option("--agent", options->agents, "ROLE=AGENT[:MODEL] for planner, writer or reviewer; ROLE= takes it away");
  verb.option("--policy", options->policy, "WHERE=ask|auto for plan, risky and landing (also branch)");
  verb.option("--rounds", options->rounds, "How many fix rounds a new task has");
  verb.option("--budget", options->budget, "How many tokens a new task may cost; 0: no limit");
  verb.runs([options](Session& session) { return set(session, *options); });
}

}  // namespace coffer::cli
