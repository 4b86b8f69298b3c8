#include <algorithm>
#include <format>
#include <memory>
#include <utility>
#include <vector>

#include "run_view.hpp"
#include "session.hpp"
#include "task_choice.hpp"
#include "task_details.hpp"
#include "verb.hpp"
#include "verbs.hpp"

namespace coffer::cli {

namespace {

/// The gate's commands that failed, newest first: what a gate finds is what they printed.
std::vector<Dictionary> failedGates(std::vector<Dictionary> runs) {
  std::erase_if(runs, [](const Dictionary& run) {
    const RunView view(run);
    return view.kind != "gate" || view.ended == 0 || view.good();
  });
  std::ranges::reverse(runs);
  return runs;
}

Outcome review(Session& session, const TaskOption& option) {
  auto bus = session.connect();
  if (!bus) return std::unexpected(bus.error());
  const auto task = chooseTask(session, **bus, option, WhenMissing::WaitingOrLive);
  if (!task) return std::unexpected(task.error());
  const auto [findings, gates] = session.during(
      "Reading the findings", [&] { return std::pair((*task)->listFindings(), failedGates((*task)->listRuns())); });
  if (session.json()) {
    session.print(
        Json().add("Id", *session.task()).add("Findings", Json::of(findings)).add("FailedGates", Json::of(gates)));
    return ExitCode::Done;
  }
  if (findings.empty() && gates.empty()) {
    session.print("Nothing was found.\n");
    return ExitCode::Done;
  }
  auto text = painted(findingLines(findings), session.paint());
  if (!gates.empty()) {
    std::vector<StyledLine> lines;
    if (!findings.empty()) lines.emplace_back();
    for (const auto& gate : gates) {
      const RunView view(gate);
      lines.push_back({{std::format("Round {}, gate  ", view.round), Tone::Faint},
                       {firstLine(view.text), Tone::Strong},
                       {": " + view.outcome(), Tone::Bad}});
    }
    text += painted(lines, session.paint());
  }
  session.printLong(text);
  if (!gates.empty()) session.note("next: " + session.command(std::format("log {} --gate", *session.task())) + "\n");
  return ExitCode::Done;
}

}  // namespace

void addReview(CLI::App& parent, Invocation& invocation) {
  const auto option = std::make_shared<TaskOption>();
  Verb verb(parent, invocation, "review",
            "What reviewers found, newest round first, and which commands of the gate failed",
            {"review 17", "review 17 --json"});
  addTaskOption(verb, *option);
  verb.runs([option](Session& session) { return review(session, *option); });
}

}  // namespace coffer::cli
