#include <memory>

#include "session.hpp"
#include "task_choice.hpp"
#include "task_details.hpp"
#include "verb.hpp"
#include "verbs.hpp"

namespace coffer::cli {

namespace {

Outcome review(Session& session, const TaskOption& option) {
  auto bus = session.connect();
  if (!bus) return std::unexpected(bus.error());
  const auto task = chooseTask(session, **bus, option, WhenMissing::WaitingOrLive);
  if (!task) return std::unexpected(task.error());
  const auto findings = session.during("Reading the findings", [&] { return (*task)->listFindings(); });
  if (session.json()) {
    session.print(Json().add("Id", *session.task()).add("Findings", Json::of(findings)));
    return ExitCode::Done;
  }
  if (findings.empty()) {
    session.print("Nothing was found.\n");
    return ExitCode::Done;
  }
  session.printLong(painted(findingLines(findings), session.paint()));
  return ExitCode::Done;
}

}  // namespace

void addReview(CLI::App& parent, Invocation& invocation) {
  const auto option = std::make_shared<TaskOption>();
  Verb verb(parent, invocation, "review",
            "What reviewers found, newest round first; log --gate tells what a gate printed",
            {"review 17", "review 17 --json"});
  addTaskOption(verb, *option);
  verb.runs([option](Session& session) { return review(session, *option); });
}

}  // namespace coffer::cli
