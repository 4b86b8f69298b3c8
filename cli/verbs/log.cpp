#include <format>
#include <memory>
#include <optional>
#include <string>

#include "model/visible_text.hpp"
#include "session.hpp"
#include "task_choice.hpp"
#include "task_text.hpp"
#include "verb.hpp"
#include "verbs.hpp"

namespace coffer::cli {

namespace {

struct Options {
  TaskOption task;
  bool gate = false;
  bool events = false;
  bool output = false;
  std::optional<std::uint64_t> run;
};

constexpr std::uint32_t kEventsPerCall = 1000;

/// One value of an event, for people: text and numbers as they are, the rest as JSON.
std::string plainValue(const sdbus::Variant& value) {
  if (value.containsValueOfType<std::string>()) return value.get<std::string>();
  if (value.containsValueOfType<std::uint64_t>()) return std::to_string(value.get<std::uint64_t>());
  if (value.containsValueOfType<std::int64_t>()) return std::to_string(value.get<std::int64_t>());
  if (value.containsValueOfType<std::uint32_t>()) return std::to_string(value.get<std::uint32_t>());
  if (value.containsValueOfType<bool>()) return value.get<bool>() ? "yes" : "no";
  return "...";
}

Outcome events(Session& session, Connection& bus, std::uint64_t task) {
  std::vector<Json> entries;
  std::string text;
  std::optional<std::uint64_t> begin;
  std::uint64_t after = 0;
  for (;;) {
    const auto [events, next] = bus.manager().listEvents(after, kEventsPerCall, {{"task", sdbus::Variant(task)}});
    for (const auto& event : events) {
      if (session.json()) {
        Json entry;
        entry.add("Sequence", event.sequence).add("Task", event.task).add("Time", event.time).add("Type", event.type);
        entry.add("Fields", Json::of(event.fields));
        entries.push_back(std::move(entry));
        continue;
      }
      if (!begin) {
        begin = event.time;
        text += absoluteTime(event.time) + "\n";
      }
      const Microseconds passed(static_cast<std::int64_t>(event.time >= *begin ? event.time - *begin : 0));
      text += session.paint()(Tone::Faint, clockTime(passed)) + "  " +
              session.paint()(Tone::Strong, model::visibleText(event.type));
      for (const auto& [name, value] : event.fields)
        text += std::format("  {}={}", model::visibleText(name), firstLine(model::visibleText(plainValue(value))));
      text += "\n";
    }
    if (next <= after || events.empty()) break;
    after = next;
  }
  if (session.json())
    session.print(Json().add("Id", task).add("Events", std::move(entries)));
  else
    session.printLong(text);
  return ExitCode::Done;
}

Outcome log(Session& session, const Options& options) {
  auto bus = session.connect();
  if (!bus) return std::unexpected(bus.error());
  const auto task = chooseTask(session, **bus, options.task, WhenMissing::WaitingOrLive);
  if (!task) return std::unexpected(task.error());
  if (options.events) return events(session, **bus, *session.task());
  const std::string what = options.gate ? "gate" : options.output ? "log" : "transcript";
  const auto text = session.during("Reading the " + what, [&] { return readTaskText(**task, what, options.run); });
  if (session.json()) {
    session.print(Json()
                      .add("Id", *session.task())
                      .add("What", what)
                      .add("Text", text.text)
                      .add("Digest", text.digest)
                      .add("Cut", text.cut || text.late));
    return ExitCode::Done;
  }
  auto shown = model::visibleText(text.text);
  if (!shown.empty() && !shown.ends_with('\n')) shown += '\n';
  if (text.late) session.note("What came before is not shown here; this is the end of what is there by now.\n");
  session.printLong(shown);
  if (text.cut) session.note("There is more than what is shown here.\n");
  return ExitCode::Done;
}

}  // namespace

void addLog(CLI::App& parent, Invocation& invocation) {
  const auto options = std::make_shared<Options>();
  Verb verb(parent, invocation, "log", "What an agent said and did, what the gate printed, or what happened",
            {"log 17", "log 17 --gate", "log 17 --events"});
  addTaskOption(verb, options->task);
  verb.flag("--gate", options->gate, "What the last gate printed");
  verb.flag("--output", options->output, "The agent's raw output instead of its transcript, while it runs")
      .excludes("--gate");
  verb.option("--run", options->run, "Of this run (coffer show lists them) instead of the last");
  verb.flag("--events", options->events, "Everything that happened to the task")
      .excludes("--gate")
      .excludes("--output")
      .excludes("--run");
  verb.runs([options](Session& session) { return log(session, *options); });
}

}  // namespace coffer::cli
