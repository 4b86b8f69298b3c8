#include "run_view.hpp"

#include <format>
#include <map>

#include "model/visible_text.hpp"

namespace coffer::cli {

RunView::RunView(const Dictionary& run)
    : id(numberOf(run, "Id")),
      kind(model::visibleText(textOf(run, "Kind"))),
      role(model::visibleText(textOf(run, "Role"))),
      agent(model::visibleText(textOf(run, "Agent"))),
      round(smallNumberOf(run, "Round")),
      attempt(smallNumberOf(run, "Attempt")),
      started(numberOf(run, "Started")),
      ended(numberOf(run, "Ended")),
      result(model::visibleText(textOf(run, "Result"))),
      code(valueOf<std::int32_t>(run, "Code")),
      text(model::visibleText(textOf(run, "Text"))),
      tokens(0) {
  if (const auto model = model::visibleText(textOf(run, "Model")); !model.empty()) agent += "/" + model;
  // As a budget counts them: what was cached is no part of the input, what was thought is part of the output.
  const auto usage = valueOf<std::map<std::string, std::uint64_t>>(run, "Usage");
  for (const auto* name : {"input", "cached", "output"})
    if (const auto found = usage.find(name); found != usage.end()) tokens += found->second;
}

std::string RunView::what() const {
  std::string words = role.empty() ? kind : role;
  if (!role.empty() && !kind.empty() && kind != role && kind != "turn") words += " " + kind;
  if (!agent.empty()) words += " (" + agent + ")";
  // The text of a gate's run is its command.
  if (kind == "gate" && !text.empty()) words += " " + firstLine(text);
  if (round > 0) words += std::format(", round {}", round);
  if (attempt > 1) words += std::format(", attempt {}", attempt);
  return words;
}

Microseconds RunView::length(std::uint64_t now) const {
  const auto end = ended == 0 ? now : ended;
  return Microseconds(end > started ? static_cast<std::int64_t>(end - started) : 0);
}

std::string RunView::outcome() const {
  // Results are PID 1's words for how a unit ended.
  if (good()) return "ok";
  if (result == "exit-code") return std::format("exit code {}", code);
  if (result == "signal" || result == "core-dump") return std::format("killed by signal {}", code);
  if (result == "oom-kill") return "out of memory";
  if (result == "timeout") return "took too long";
  if (result == "not-started") return "could not be started";
  return result;
}

bool RunView::good() const { return result == "success" || result == "ok"; }

}  // namespace coffer::cli
