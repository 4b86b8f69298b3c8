#include <algorithm>
#include <chrono>
#include <cstdint>
#include <format>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <glib.h>

#include "assignment.hpp"
#include "model/limits.hpp"
#include "model/visible_text.hpp"
#include "process.hpp"
#include "project_choice.hpp"
#include "session.hpp"
#include "task_text.hpp"
#include "task_view.hpp"
#include "verb.hpp"
#include "verbs.hpp"

namespace coffer::cli {

namespace {

struct Options {
  std::string project;
  std::string flow;
  std::vector<std::string> agents;
  std::vector<std::string> policy;
  std::string plan;
  std::optional<std::uint64_t> rounds;
  std::optional<std::uint64_t> budget;
  std::string landing_style;
  std::vector<std::string> prompt;
};

std::expected<std::string, Failure> promptOf(Session& session, const Options& options) {
  if (!options.prompt.empty() && options.prompt != std::vector<std::string>{"-"}) {
    std::string text;
    for (const auto& word : options.prompt)
      text += (text.empty() ? "" : " ") + word;
    return text;
  }
  if (options.prompt.empty() && session.terminal().input) {
    auto written = readFromEditor(
        "Say above what is to be done: what is wrong or missing, and how one would see that it is right.",
        limits::kTextBytes);
    if (!written) return std::unexpected(written.error());
    session.unsent(std::move(written->file));
    return std::move(written->text);
  }
  auto text = readInput(limits::kTextBytes);
  while (text && text->ends_with('\n'))
    text->pop_back();
  return text;
}

/// How long a person waits to be told what is left out; longer than this it takes where a task waits for its turn.
constexpr auto kSnapshotTime = std::chrono::seconds(10);

/// Waits until the task has the commit it works on, or it is known that this takes longer.
void awaitSnapshot(const Session& session, TaskClient& task) {
  const auto progress = session.progress("Reading the repository");
  const auto end = std::chrono::steady_clock::now() + kSnapshotTime;
  for (;;) {
    const auto properties = task.properties();
    const TaskView view(properties);
    const auto left = std::chrono::duration_cast<Microseconds>(end - std::chrono::steady_clock::now());
    if (view.state != "queued" || !view.parked.empty() || left.count() <= 0) return;
    task.wait(numberOf(properties, "Sequence"), static_cast<std::uint64_t>(left.count()));
  }
}

/// A task works on HEAD; what is only in the work tree is not part of it, which surprises people. The task is made
/// whatever becomes of this.
void sayWhatIsLeftOut(const Session& session, TaskClient& task, std::uint64_t id) {
  TaskText paths;
  try {
    awaitSnapshot(session, task);
    paths = readTaskText(task, "left-out");
  } catch (const sdbus::Error&) {
    session.note("It works on HEAD; what of your changes is not in it is not known yet: " +
                 session.command(std::format("show {} --left-out", id)) + "\n");
    return;
  }
  if (paths.text.empty()) return;
  session.note("Works on HEAD; these paths are changed and not in it:\n");
  for (const auto line : linesOf(paths.text))
    session.note(std::format("  {}\n", model::visibleText(line)));
}

Outcome create(Session& session, const Options& options) {
  const auto agents = parseAgents(options.agents, session.options().host);
  if (!agents) return std::unexpected(agents.error());
  const auto policy = parseAssignments(options.policy, "--policy", "landing=auto");
  if (!policy) return std::unexpected(policy.error());

  // The project first: nobody should write a prompt in an editor only to learn that there is none.
  auto bus = session.connectForChange();
  if (!bus) return std::unexpected(bus.error());
  const auto project = chooseProject(session, **bus, options.project);
  if (!project) return std::unexpected(project.error());
  const auto prompt = promptOf(session, options);
  if (!prompt) return std::unexpected(prompt.error());
  if (prompt->find_first_not_of(" \t\r\n") == std::string::npos)
    return usageFailure("The prompt is empty; say what is to be done.", session.command("new \"...\""));
  if (!g_utf8_validate(prompt->data(), static_cast<gssize>(prompt->size()), nullptr)) return notText("prompt");

  auto call = changeOptions();
  if (!options.plan.empty()) {
    auto plan = readFile(options.plan, limits::kTextBytes);
    if (!plan) return std::unexpected(plan.error());
    if (!g_utf8_validate(plan->data(), static_cast<gssize>(plan->size()), nullptr)) return notText("plan");
    call.emplace("plan", sdbus::Variant(*plan));
  }
  if (!options.flow.empty()) call.emplace("flow", sdbus::Variant(options.flow));
  if (!agents->empty()) call.emplace("agents", sdbus::Variant(*agents));
  if (!policy->empty()) call.emplace("policy", sdbus::Variant(*policy));
  if (options.rounds) call.emplace("rounds", smallNumber(*options.rounds));
  if (options.budget) call.emplace("budget", sdbus::Variant(*options.budget));
  if (!options.landing_style.empty()) call.emplace("landing-style", sdbus::Variant(options.landing_style));
  sdbus::ObjectPath path;
  std::uint64_t id = 0;
  {
    const auto progress = session.progress("Making the task");
    std::tie(path, id) = (*bus)->manager().createTask(project->path, *prompt, call);
  }
  session.sent();
  session.about(id);
  if (session.json()) {
    session.print(Json().add("Id", id).add("Path", path));
    return ExitCode::Done;
  }
  session.print(std::format("Task {} is queued on {}.\n", id, model::visibleText(textOf(project->properties, "Name"))));
  sayWhatIsLeftOut(session, *(*bus)->task(path), id);
  session.note("next: " + session.command(std::format("watch {}", id)) + "\n");
  return ExitCode::Done;
}

}  // namespace

void addNew(CLI::App& parent, Invocation& invocation) {
  const auto options = std::make_shared<Options>();
  Verb verb(parent, invocation, "new", "Gives work to the agents",
            {"new \"Fix the overflow in inflate\"",
             "new -p zlib --agent writer=codex:gpt-5 --policy plan=auto < request.md"});
  verb.words("PROMPT", options->prompt, "What is to be done; - reads it from standard input, nothing opens an editor");
  verb.option("-p,--project", options->project, "The project, by default the one of the current directory");
  verb.option("--flow", options->flow, "single, executor, review (default) or supervisor");
  verb.option("--agent", options->agents, "ROLE=AGENT[:MODEL] for planner, writer or reviewer");
  verb.option("--policy", options->policy, "WHERE=ask|auto for plan, risky and landing (also branch)");
  verb.option("--plan", options->plan, "A file with a plan of your own, which no agent drafts then");
  verb.option("--landing-style", options->landing_style, "squash (default): one commit; merge: the writer's are kept");
  verb.option("--rounds", options->rounds, "How many fix rounds there may be");
  verb.option("--budget", options->budget, "How many tokens its turns may cost in all; 0: no limit");
  verb.runs([options](Session& session) { return create(session, *options); });
}

}  // namespace coffer::cli
