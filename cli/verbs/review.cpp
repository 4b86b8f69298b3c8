#include <format>
#include <memory>

#include "model/visible_text.hpp"
#include "session.hpp"
#include "task_choice.hpp"
#include "verb.hpp"
#include "verbs.hpp"

namespace coffer::cli {

namespace {

Tone toneOf(const std::string& severity) {
  if (severity == "error") return Tone::Bad;
  return severity == "warning" ? Tone::Attention : Tone::Plain;
}

std::string findingText(const Dictionary& finding, const Paint& paint) {
  const auto severity = textOf(finding, "Severity");
  auto place = model::visibleText(textOf(finding, "Path"));
  if (const auto line = numberOf(finding, "Line"); line > 0) place += std::format(":{}", line);
  std::string result = paint(toneOf(severity), model::visibleText(severity));
  if (valueOf<bool>(finding, "Blocking")) result += paint(Tone::Bad, " blocking");
  if (!place.empty()) result += " " + paint(Tone::Strong, place);
  result += ": " + firstLine(model::visibleText(textOf(finding, "Title"))) + "\n";
  const auto text = model::visibleText(textOf(finding, "Text"));
  for (const auto line : linesOf(text))
    result += line.empty() ? "\n" : std::format("    {}\n", line);
  return result;
}

Outcome review(Session& session, const TaskOption& option) {
  auto bus = session.connect();
  if (!bus) return std::unexpected(bus.error());
  const auto task = chooseTask(session, **bus, option, WhenMissing::WaitingOrLive);
  if (!task) return std::unexpected(task.error());
  const auto findings = (*task)->listFindings();
  if (session.json()) {
    session.print(Json().add("Id", *session.task()).add("Findings", Json::of(findings)));
    return ExitCode::Done;
  }
  if (findings.empty()) {
    session.print("Nothing was found.\n");
    return ExitCode::Done;
  }
  std::string text;
  std::optional<std::uint32_t> round;
  for (const auto& finding : findings) {
    const auto now = smallNumberOf(finding, "Round");
    if (now != round) {
      if (round) text += "\n";
      text += session.paint()(Tone::Faint,
                              std::format("Round {}, {}", now, model::visibleText(textOf(finding, "Source")))) +
              "\n";
      round = now;
    }
    text += findingText(finding, session.paint());
  }
  session.printLong(text);
  return ExitCode::Done;
}

}  // namespace

void addReview(CLI::App& parent, Invocation& invocation) {
  const auto option = std::make_shared<TaskOption>();
  Verb verb(parent, invocation, "review", "What gate and reviewers found, newest round first",
            {"review 17", "review 17 --json"});
  addTaskOption(verb, *option);
  verb.runs([option](Session& session) { return review(session, *option); });
}

}  // namespace coffer::cli
