#include <cstdlib>
#include <memory>
#include <string_view>

#include "session.hpp"
#include "ui/view.hpp"
#include "verb.hpp"
#include "verbs.hpp"

namespace coffer::cli {

namespace {

Outcome view(Session& session) {
  const char* term = std::getenv("TERM");
  const std::string_view kind = term ? term : "";
  if (session.json())
    return usageFailure("The view is for people; ask for a list instead.", session.command("list --json"));
  if (!session.terminal().input || !session.terminal().output)
    return usageFailure("The view needs a terminal to draw on and to read keys from.", session.command("list"));
  if (kind.empty() || kind == "dumb")
    return usageFailure("This terminal cannot be drawn on (TERM is " +
                            (kind.empty() ? std::string("not set") : "\"" + std::string(kind) + "\"") + ").",
                        session.command("list"));
  // Whatever is wrong from the start is said as every command says it.
  auto bus = Connection::open(session.options().host, false);
  if (!bus) return std::unexpected(std::move(bus.error()));
  static_cast<void>((*bus)->manager().listTasks({}, 0, 1));
  return ui::show(session, std::move(*bus));
}

}  // namespace

void addUi(CLI::App& parent, Invocation& invocation) {
  Verb verb(
      parent, invocation, "ui",
      "Shows your tasks on the whole terminal: read plans, diffs and transcripts, and decide by single keys.\n"
      "Enter opens a task, Tab goes to its next page, p d l o f i to its plan, diff, transcript, gate's output,\n"
      "findings, details; a accepts what was read, r replies, c cancels, x deletes; ? shows every key, q leaves.\n"
      "It waits for what happens and draws only then.",
      {"ui", "-H me@builder ui"});
  verb.runs(view);
}

}  // namespace coffer::cli
