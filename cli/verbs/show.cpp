#include <format>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "model/visible_text.hpp"
#include "run_view.hpp"
#include "session.hpp"
#include "task_choice.hpp"
#include "task_view.hpp"
#include "verb.hpp"
#include "verbs.hpp"

namespace coffer::cli {

namespace {

using Refusals = std::vector<
    sdbus::Struct<std::string, std::string, std::string, std::string, std::uint16_t, std::string, std::uint64_t>>;
using Landed = std::vector<sdbus::Struct<std::string, std::string, std::string>>;
using Problem = sdbus::Struct<std::string, std::string>;

std::string joined(const std::map<std::string, std::string>& values, std::string_view equals) {
  std::string text;
  for (const auto& [name, value] : values)
    text += (text.empty() ? "" : ", ") + name + std::string(equals) + value;
  return model::visibleText(text);
}

/// Tokens as the provider counts them: what was cached is part of the input, what was thought part of the output.
std::string usageText(const Dictionary& task) {
  const auto usage = valueOf<std::map<std::string, std::uint64_t>>(task, "Usage");
  const auto amount = [&usage](const char* kind) {
    const auto found = usage.find(kind);
    return found == usage.end() ? 0 : found->second;
  };
  const auto part = [&amount](const char* kind) {
    return amount(kind) == 0 ? "" : std::format(" ({} {})", countText(amount(kind)), kind);
  };
  if (amount("requests") == 0 && amount("input") == 0 && amount("output") == 0) return {};
  auto text = std::format("{} tokens in{}, {} out{}", countText(amount("input")), part("cached"),
                          countText(amount("output")), part("reasoning"));
  if (amount("requests") != 0) text += std::format(", {} requests", countText(amount("requests")));
  if (amount("wall-us") != 0)
    text += ", " + duration(Microseconds(static_cast<std::int64_t>(amount("wall-us")))) + " of turns";
  if (const auto cost = costText(valueOf<std::int64_t>(task, "CostMicro", -1)); !cost.empty()) text += ", " + cost;
  return text;
}

std::string details(const Session& session, const Dictionary& task, const TaskView& view, std::uint64_t now) {
  const auto& paint = session.paint();
  Table table({{""}, {""}});
  const auto add = [&](const std::string& label, const std::string& value, Tone tone = Tone::Plain) {
    if (!value.empty()) table.add({{label, Tone::Faint}, {value, tone}});
  };
  auto state = view.where();
  if (view.waitingUntil != 0) state += ", " + relativeTime(view.waitingUntil, now);
  add("State", state, view.tone());
  if (!view.waitingWords.empty() && view.parked.empty() && view.needsYou()) add("", view.waitingWords);
  const auto [code, words] = valueOf<Problem>(task, "Problem");
  if (!words.empty())
    add("Problem", model::visibleText(words) + (code.empty() ? "" : " (" + model::visibleText(code) + ")"), Tone::Bad);
  add("Project", view.project);
  add("Flow", model::visibleText(textOf(task, "Flow")) + ": " + joined(mapOf(task, "Agents"), " "));
  add("Asks", joined(mapOf(task, "Policy"), " "));
  add("Round", std::format("{} of {}", view.round, view.rounds));
  const auto branch = model::visibleText(textOf(task, "BaseBranch"));
  add("Base", shortCommit(textOf(task, "Base")) + (branch.empty() ? "" : " on " + branch));
  add("Candidate", textOf(task, "Candidate"));
  add("Plan", textOf(task, "PlanDigest"));
  add("Work", textOf(task, "WorkDigest"));
  for (const auto& [commit, target, where] : valueOf<Landed>(task, "Landed"))
    add("Landed", std::format("{} on {} in {}", commit, model::visibleText(target), model::visibleText(where)),
        Tone::Good);
  add("Usage", usageText(task));
  if (const auto budget = numberOf(task, "Budget"); budget != 0) add("Budget", countText(budget) + " tokens");
  add("Slice", model::visibleText(textOf(task, "Slice")));
  add("Created", std::format("{} ({})", absoluteTime(view.created), relativeTime(view.created, now)));
  add("Changed", relativeTime(view.changed, now));
  return paint(Tone::Strong, view.name()) + "\n" + table.text(paint, std::nullopt, "  ");
}

std::string runsText(const Session& session, const std::vector<Dictionary>& runs, std::uint64_t now) {
  if (runs.empty()) return {};
  Table table({{"RUN", Align::Right}, {"WHAT"}, {"TIME", Align::Right}, {"TOKENS", Align::Right}, {"RESULT"}});
  for (const auto& entry : runs) {
    const RunView run(entry);
    const bool going = run.ended == 0;
    auto result = going ? std::string("running") : run.outcome();
    if (!run.text.empty() && run.kind != "gate") result += ": " + firstLine(run.text);
    table.add({{std::to_string(run.id)},
               {run.what()},
               {duration(run.length(now))},
               {run.tokens == 0 ? "" : countText(run.tokens)},
               {result, going        ? Tone::Plain
                        : run.good() ? Tone::Good
                                     : Tone::Attention}});
  }
  return "\n" + table.text(session.paint(), session.terminal().width, "  ");
}

std::string refusalsText(const Session& session, const Dictionary& task) {
  const auto refusals = valueOf<Refusals>(task, "Refusals");
  if (refusals.empty()) return {};
  Table table({{"REFUSED"}, {"TO"}, {"COUNT", Align::Right}, {"WHY"}});
  for (const auto& [role, protocol, address, name, port, reason, count] : refusals) {
    // A name says more than the address it stood for.
    const auto where = model::visibleText(name.empty() ? address : name);
    table.add({{model::visibleText(role)},
               {std::format("{} {}{}", model::visibleText(protocol), where, port == 0 ? "" : std::format(":{}", port)),
                Tone::Attention},
               {std::to_string(count)},
               {model::visibleText(reason)}});
  }
  return "\n" + table.text(session.paint(), session.terminal().width, "  ");
}

Outcome show(Session& session, const TaskOption& option) {
  auto bus = session.connect();
  if (!bus) return std::unexpected(bus.error());
  const auto task = chooseTask(session, **bus, option, WhenMissing::WaitingOrLive);
  if (!task) return std::unexpected(task.error());
  const auto properties = (*task)->properties();
  const auto runs = (*task)->listRuns();
  if (session.json()) {
    session.print(Json::of(properties).add("Path", (*task)->path()).add("Runs", Json::of(runs)));
    return ExitCode::Done;
  }
  const auto now = currentTime();
  const TaskView view(properties);
  std::string text = details(session, properties, view, now);
  if (const auto question = model::visibleText(textOf(properties, "Question")); !question.empty()) {
    text += "\n" + session.paint()(Tone::Attention, "It asks:") + "\n";
    for (const auto line : linesOf(question))
      text += std::format("  {}\n", line);
  }
  text += runsText(session, runs, now) + refusalsText(session, properties);
  session.printLong(text);
  std::string next;
  for (const auto& command : view.nextCommands())
    next += (next.empty() ? "\nnext: " : "   ") + session.command(command);
  session.note(next + "\n");
  return ExitCode::Done;
}

}  // namespace

void addShow(CLI::App& parent, Invocation& invocation) {
  const auto option = std::make_shared<TaskOption>();
  Verb verb(parent, invocation, "show", "One task: state, question, runs, what its sandboxes were refused",
            {"show 17", "show 17 --json"});
  addTaskOption(verb, *option);
  verb.runs([option](Session& session) { return show(session, *option); });
}

}  // namespace coffer::cli
