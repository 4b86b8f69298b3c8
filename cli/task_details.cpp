#include "task_details.hpp"

#include <format>
#include <map>
#include <string_view>
#include <tuple>

#include "model/visible_text.hpp"
#include "run_view.hpp"
#include "task_view.hpp"

namespace coffer::cli {

namespace {

using Refusals = std::vector<
    sdbus::Struct<std::string, std::string, std::string, std::string, std::uint16_t, std::string, std::uint64_t>>;
using Problem = sdbus::Struct<std::string, std::string>;

constexpr std::string_view kIndent = "  ";

std::string joined(const std::map<std::string, std::string>& values, std::string_view equals) {
  std::string text;
  for (const auto& [name, value] : values)
    text += (text.empty() ? "" : ", ") + name + std::string(equals) + value;
  return model::visibleText(text);
}

/// All tokens, as a budget counts them, and of which kinds they are: what was cached is no part of the input, what was
/// thought is part of the output.
std::string usageText(const Dictionary& task) {
  const auto usage = valueOf<std::map<std::string, std::uint64_t>>(task, "Usage");
  const auto amount = [&usage](const char* kind) {
    const auto found = usage.find(kind);
    return found == usage.end() ? 0 : found->second;
  };
  const auto part = [&amount](const char* kind) {
    return amount(kind) == 0 ? "" : std::format(", of it {} {}", countText(amount(kind)), kind);
  };
  const auto all = amount("input") + amount("cached") + amount("output");
  if (amount("requests") == 0 && all == 0) return {};
  const auto cached = amount("cached") == 0 ? std::string() : std::format(", {} cached", countText(amount("cached")));
  auto text = std::format("{} tokens ({} in{}, {} out{})", countText(all), countText(amount("input")), cached,
                          countText(amount("output")), part("reasoning"));
  if (amount("requests") != 0) text += std::format(", {} requests", countText(amount("requests")));
  if (amount("wall-us") != 0)
    text += ", " + duration(Microseconds(static_cast<std::int64_t>(amount("wall-us")))) + " of turns";
  if (const auto cost = costText(valueOf<std::int64_t>(task, "CostMicro", -1)); !cost.empty()) text += ", " + cost;
  return text;
}

Tone toneOfSeverity(const std::string& severity) {
  if (severity == "error") return Tone::Bad;
  return severity == "warning" ? Tone::Attention : Tone::Plain;
}

void addFinding(std::vector<StyledLine>& lines, const Dictionary& finding) {
  const auto severity = textOf(finding, "Severity");
  auto place = model::visibleText(textOf(finding, "Path"));
  if (const auto line = numberOf(finding, "Line"); line > 0) place += std::format(":{}", line);
  StyledLine heading{{model::visibleText(severity), toneOfSeverity(severity)}};
  if (valueOf<bool>(finding, "Blocking")) heading.push_back({" blocking", Tone::Bad});
  if (!place.empty()) {
    heading.push_back({" "});
    heading.push_back({place, Tone::Strong});
  }
  heading.push_back({": " + firstLine(model::visibleText(textOf(finding, "Title")))});
  lines.push_back(std::move(heading));
  const auto text = model::visibleText(textOf(finding, "Text"));
  for (const auto line : linesOf(text))
    lines.push_back(line.empty() ? StyledLine() : StyledLine{{std::format("    {}", line)}});
}

}  // namespace

std::string baseBranch(const Dictionary& task) {
  constexpr std::string_view kHeads = "refs/heads/";
  auto name = model::visibleText(textOf(task, "BaseBranch"));
  if (name.starts_with(kHeads)) name.erase(0, kHeads.size());
  return name;
}

std::vector<std::string> landingsOf(const Dictionary& task) {
  using Landed = std::vector<sdbus::Struct<std::string, std::string, std::string>>;
  std::vector<std::string> result;
  for (const auto& [commit, target, where] : valueOf<Landed>(task, "Landed"))
    result.push_back(std::format("{} on {} in {}", commit, model::visibleText(target), model::visibleText(where)));
  return result;
}

std::vector<Field> fieldsOf(const Dictionary& task, std::optional<std::uint64_t> now) {
  const TaskView view(task);
  std::vector<Field> fields;
  const auto add = [&](std::string label, std::string value, Tone tone = Tone::Plain) {
    if (!value.empty()) fields.push_back({std::move(label), std::move(value), tone});
  };
  auto state = view.where();
  if (view.waitingUntil != 0)
    state += now ? ", " + relativeTime(view.waitingUntil, *now) : ", until " + absoluteTime(view.waitingUntil);
  add("State", state, view.tone());
  if (!view.waitingWords.empty() && view.parked.empty() && view.needsYou()) add("", view.waitingWords);
  const auto [code, words] = valueOf<Problem>(task, "Problem");
  if (!words.empty())
    add("Problem", model::visibleText(words) + (code.empty() ? "" : " (" + model::visibleText(code) + ")"), Tone::Bad);
  add("Project", view.project);
  add("Flow", model::visibleText(textOf(task, "Flow")) + ": " + joined(mapOf(task, "Agents"), " "));
  add("Asks", joined(mapOf(task, "Policy"), " "));
  add("Round", std::format("{} of {}", view.round, view.rounds));
  const auto branch = baseBranch(task);
  add("Base", shortCommit(textOf(task, "Base")) + (branch.empty() ? "" : " on " + branch));
  add("Candidate", textOf(task, "Candidate"));
  add("Plan", textOf(task, "PlanDigest"));
  add("Work", textOf(task, "WorkDigest"));
  for (const auto& landing : landingsOf(task))
    add("Landed", landing, Tone::Good);
  add("Usage", usageText(task));
  if (const auto budget = numberOf(task, "Budget"); budget != 0) add("Budget", countText(budget) + " tokens");
  add("Slice", model::visibleText(textOf(task, "Slice")));
  const auto ago = [&](std::uint64_t when) { return now ? " (" + relativeTime(when, *now) + ")" : std::string(); };
  add("Created", absoluteTime(view.created) + ago(view.created));
  add("Changed", now ? relativeTime(view.changed, *now) : absoluteTime(view.changed));
  return fields;
}

std::vector<StyledLine> linesOf(const std::vector<Field>& fields) {
  Table table({{""}, {""}});
  for (const auto& field : fields)
    table.add({{field.label, Tone::Faint}, {field.value, field.tone}});
  return table.lines(std::nullopt, kIndent);
}

std::vector<StyledLine> questionLines(const Dictionary& task) {
  const auto question = model::visibleText(textOf(task, "Question"));
  if (question.empty()) return {};
  std::vector<StyledLine> lines{{{"It asks:", Tone::Attention}}};
  for (const auto line : linesOf(question))
    lines.push_back({{std::string(kIndent) + std::string(line)}});
  return lines;
}

std::vector<StyledLine> runLines(const std::vector<Dictionary>& runs, std::optional<std::uint64_t> now,
                                 std::optional<std::size_t> width) {
  if (runs.empty()) return {};
  Table table({{"RUN", Align::Right},
               {"WHAT", Align::Left, Fit::Shared},
               {"TIME", Align::Right},
               {"TOKENS", Align::Right},
               {"RESULT"}});
  for (const auto& entry : runs) {
    const RunView run(entry);
    const bool going = run.ended == 0;
    auto result = going ? std::string("running") : run.outcome();
    if (!run.text.empty() && run.kind != "gate") result += ": " + firstLine(run.text);
    table.add({{std::to_string(run.id)},
               {run.what()},
               {going && !now ? "" : duration(run.length(now.value_or(run.ended)))},
               {run.tokens == 0 ? "" : countText(run.tokens)},
               {result, going        ? Tone::Plain
                        : run.good() ? Tone::Good
                                     : Tone::Attention}});
  }
  return table.lines(width, kIndent);
}

std::vector<StyledLine> refusalLines(const Dictionary& task, std::optional<std::size_t> width) {
  const auto refusals = valueOf<Refusals>(task, "Refusals");
  if (refusals.empty()) return {};
  Table table({{"REFUSED"}, {"TO", Align::Left, Fit::Shared}, {"COUNT", Align::Right}, {"WHY"}});
  for (const auto& [role, protocol, address, name, port, reason, count] : refusals) {
    // A name says more than the address it stood for.
    const auto where = model::visibleText(name.empty() ? address : name);
    table.add({{model::visibleText(role)},
               {std::format("{} {}{}", model::visibleText(protocol), where, port == 0 ? "" : std::format(":{}", port)),
                Tone::Attention},
               {std::to_string(count)},
               {model::visibleText(reason)}});
  }
  return table.lines(width, kIndent);
}

std::vector<StyledLine> findingLines(const std::vector<Dictionary>& findings) {
  std::vector<StyledLine> lines;
  std::optional<std::uint32_t> round;
  for (const auto& finding : findings) {
    const auto of = smallNumberOf(finding, "Round");
    if (of != round) {
      if (round) lines.emplace_back();
      lines.push_back({{std::format("Round {}, {}", of, model::visibleText(textOf(finding, "Source"))), Tone::Faint}});
      round = of;
    }
    addFinding(lines, finding);
  }
  return lines;
}

}  // namespace coffer::cli
