#include "task_view.hpp"

#include <algorithm>
#include <format>

#include "model/visible_text.hpp"

namespace coffer::cli {

TaskView::TaskView(const Dictionary& task)
    : id(numberOf(task, "Id")),
      project(model::visibleText(textOf(task, "ProjectName"))),
      title(firstLine(model::visibleText(textOf(task, "Title")))),
      state(model::visibleText(textOf(task, "State"))),
      parked(model::visibleText(textOf(task, "Parked"))),
      actions(textsOf(task, "Actions")),
      round(smallNumberOf(task, "Round")),
      rounds(smallNumberOf(task, "Rounds")),
      created(numberOf(task, "Created")),
      changed(numberOf(task, "Changed")),
      deleted(valueOf<bool>(task, "Deleted")) {
  const auto waiting = valueOf<WaitingFor>(task, "Waiting");
  waitingCode = std::get<0>(waiting);
  waitingWords = model::visibleText(std::get<1>(waiting));
  waitingUntil = std::get<2>(waiting);
}

bool TaskView::allows(std::string_view action) const { return std::ranges::find(actions, action) != actions.end(); }

bool TaskView::ended() const { return state == "done" || state == "failed" || state == "cancelled"; }

bool TaskView::needsYou() const {
  if (ended()) return false;
  if (allows("accept-plan") || allows("accept-work")) return true;
  // Two reasons to stand still can end by themselves, when it is known when.
  const bool passes = (parked == "quota" || parked == "retry") && waitingUntil != 0;
  return !parked.empty() && !passes;
}

std::string TaskView::name() const {
  return project.empty() ? std::format("{} {}", id, title) : std::format("{} {}: {}", id, project, title);
}

std::string TaskView::where() const {
  if (!parked.empty()) {
    if (parked == "question") return "asks you something";
    return waitingWords.empty() ? "parked: " + parked : std::format("{}: {}", parked, firstLine(waitingWords));
  }
  if (allows("accept-plan")) return "plan to read";
  if (allows("accept-work")) return "work to review";
  std::string result = deleted ? state + ", deleted" : state;
  if (round > 0 && !ended()) result += std::format(", round {} of {}", round, rounds);
  if (!waitingWords.empty() && !ended()) result += ", " + firstLine(waitingWords);
  return result;
}

Tone TaskView::tone() const {
  if (needsYou()) return Tone::Attention;
  if (state == "failed") return Tone::Bad;
  if (state == "done" || state == "landed") return Tone::Good;
  return ended() ? Tone::Faint : Tone::Plain;
}

std::vector<std::string> TaskView::nextCommands() const {
  std::vector<std::string> result;
  const auto add = [&](std::string_view format) { result.push_back(std::vformat(format, std::make_format_args(id))); };
  if (allows("accept-plan")) {
    add("plan {}");
    add("accept {}");
  } else if (allows("accept-work")) {
    add("diff {}");
    add("accept {}");
  }
  if (parked == "question") add("show {}");
  if (ended()) add(state == "failed" ? "log {}" : "show {}");
  if (allows("retry")) add(parked == "budget" ? "retry {} --budget TOKENS" : "retry {}");
  if (allows("reply")) add("reply {} \"...\"");
  if (result.empty()) add(needsYou() ? "show {}" : "watch {}");
  return result;
}

}  // namespace coffer::cli
