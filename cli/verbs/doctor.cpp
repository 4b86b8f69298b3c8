#include <algorithm>
#include <format>
#include <string>
#include <vector>

#include "model/visible_text.hpp"
#include "person_checks.hpp"
#include "session.hpp"
#include "verb.hpp"
#include "verbs.hpp"

namespace coffer::cli {

namespace {

Tone toneOf(const std::string& state) {
  return state == "ok" ? Tone::Good : state == "warning" ? Tone::Attention : Tone::Bad;
}

/// The table, and below each row that is not well what is wrong and what mends it.
std::string text(const Session& session, const std::vector<Dictionary>& checks) {
  Table table({{"CHECK"}, {"STATE"}, {"FOUND"}});
  for (const auto& check : checks) {
    const auto state = model::visibleText(textOf(check, "state"));
    table.add({{model::visibleText(textOf(check, "name")), Tone::Strong},
               {state, toneOf(state)},
               {firstLine(model::visibleText(textOf(check, "text")))}});
  }
  const auto lines = table.lines(session.terminal().width);
  const auto& paint = session.paint();
  std::string result = painted({lines.front()}, paint);
  for (std::size_t i = 0; i < checks.size(); ++i) {
    result += painted({lines[i + 1]}, paint);
    // These are read in full or not at all, so nothing is cut to the terminal's width.
    for (const auto& [label, key] : {std::pair{"wrong: ", "problem"}, std::pair{"mend:  ", "remedy"}})
      if (const auto words = textOf(checks[i], key); !words.empty())
        result += "  " + paint(Tone::Faint, label) + firstLine(model::visibleText(words)) + "\n";
  }
  return result;
}

std::string counted(std::ptrdiff_t count, const char* one, const char* more) {
  return std::format("{} {}", count, count == 1 ? one : more);
}

ExitCode show(const Session& session, const std::vector<Dictionary>& checks) {
  const auto with = [&](std::string_view state) {
    return std::ranges::count_if(checks, [&](const Dictionary& check) { return textOf(check, "state") == state; });
  };
  const auto failed = with("failed");
  const auto warnings = with("warning");
  if (session.json()) {
    session.print(Json().add("Checks", Json::of(checks)));
  } else {
    session.printLong(text(session, checks));
    if (failed > 0 || warnings > 0)
      session.note(std::format("{}, {}\n", counted(failed, "check failed", "checks failed"),
                               counted(warnings, "warning", "warnings")));
  }
  return failed > 0 ? ExitCode::Failed : ExitCode::Done;
}

/// The service does not answer: what can be told from here.
Outcome withoutService(const Session& session, const Failure& why) {
  const bool away = why.exit == ExitCode::NoDaemon || refusedByBus(why);
  // Of another machine nothing can be told.
  if (!away || !session.options().host.empty()) return std::unexpected(why);
  auto checks = serviceChecks(why);
  checks.push_back(personCheck());
  session.note(model::visibleText(why.message) + "\n");
  show(session, checks);
  return why.exit;
}

Outcome doctor(Session& session) {
  auto bus = session.connect();
  if (!bus) return withoutService(session, bus.error());
  std::vector<Dictionary> checks;
  try {
    const auto progress = session.progress("Looking at the machine");
    checks = (*bus)->manager().checkSystem();
  } catch (const sdbus::Error& error) {
    return withoutService(session, failureOf(error, std::nullopt, session.options().host));
  }
  if (session.options().host.empty()) checks.push_back(personCheck());
  return show(session, checks);
}

}  // namespace

void addDoctor(CLI::App& parent, Invocation& invocation) {
  Verb verb(parent, invocation, "doctor",
            "Whether this machine has what Cofferdam needs, and what mends what it lacks; exit code 1 when a check "
            "failed, 7 without "
            "the service, 0 otherwise, warnings or not",
            {"doctor", "doctor --json"});
  verb.runs(doctor);
}

}  // namespace coffer::cli
