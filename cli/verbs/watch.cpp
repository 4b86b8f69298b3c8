#include <chrono>
#include <csignal>
#include <format>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "model/visible_text.hpp"
#include "run_view.hpp"
#include "session.hpp"
#include "task_choice.hpp"
#include "task_details.hpp"
#include "task_view.hpp"
#include "verb.hpp"
#include "verbs.hpp"

namespace coffer::cli {

namespace {

/// The clock of the live line moves once a second.
constexpr std::chrono::seconds kTick{1};
/// Where there is no clock to move, only signals of the bus wake us.
constexpr std::chrono::seconds kQuiet{60};

volatile std::sig_atomic_t interrupted = 0;

void onInterrupt(int) { interrupted = 1; }

/// Writes a line for everything that happened, and keeps a line below that says what goes on now.
class Watcher {
 public:
  Watcher(Session& session, bool live) : session_(session), live_(live) {}

  void update(const Dictionary& task, const std::vector<Dictionary>& runs) {
    const TaskView view(task);
    if (begin_ == 0) begin_ = view.created;
    current_.clear();
    for (const auto& entry : runs) {
      const RunView run(entry);
      if (run.ended == 0) {
        current_ = run.what();
        since_ = run.started;
      }
      auto& known = runs_[run.id];
      if (run.ended != 0 && !known) {
        line(run.ended, runEnd(run));
        known = true;
      }
    }
    const auto state = view.where();
    if (state != state_) {
      state_ = state;
      line(view.changed, session_.paint()(view.tone(), state));
    }
  }

  /// Redraws the line that says what goes on now.
  void tick(const std::string& title) {
    if (!live_) return;
    const auto now = currentTime();
    auto text = std::format("{}  {}", clockTime(passed(now)), current_.empty() ? title : current_);
    if (!current_.empty())
      text += "  " + clockTime(Microseconds(static_cast<std::int64_t>(now > since_ ? now - since_ : 0)));
    if (text == drawn_) return;
    drawn_ = text;
    session_.print("\r\x1b[K" +
                   session_.paint()(Tone::Faint, fitted(text, session_.terminal().width.value_or(80) - 1)));
  }

  void clear() {
    if (drawn_.empty()) return;
    drawn_.clear();
    session_.print("\r\x1b[K");
  }

 private:
  [[nodiscard]] Microseconds passed(std::uint64_t when) const {
    return Microseconds(when > begin_ ? static_cast<std::int64_t>(when - begin_) : 0);
  }

  void line(std::uint64_t when, const std::string& text) {
    if (session_.json()) return;
    clear();
    session_.print(session_.paint()(Tone::Faint, clockTime(passed(when))) + "  " + text + "\n");
  }

  [[nodiscard]] std::string runEnd(const RunView& run) const {
    auto text = run.what() + ": " + session_.paint()(run.good() ? Tone::Good : Tone::Attention, run.outcome()) + ", " +
                duration(run.length(run.ended));
    if (run.tokens > 0) text += ", " + countText(run.tokens) + " tokens";
    if (!run.text.empty() && !run.good() && run.kind != "gate") text += "\n         " + firstLine(run.text);
    return text;
  }

  Session& session_;
  bool live_;
  std::uint64_t begin_ = 0;             ///< when the task was made: the clock's zero
  std::map<std::uint64_t, bool> runs_;  ///< whether its end was written
  std::string state_;
  std::string current_;
  std::uint64_t since_ = 0;
  std::string drawn_;
};

Outcome finish(Session& session, const Dictionary& task) {
  const TaskView view(task);
  if (session.json()) {
    session.print(Json::of(task));
  } else {
    for (const auto& landing : landingsOf(task))
      session.print(std::format("Landed {}.\n", landing));
    const auto problem = valueOf<sdbus::Struct<std::string, std::string>>(task, "Problem");
    if (const auto words = model::visibleText(std::get<1>(problem)); !words.empty()) session.print(words + "\n");
    if (const auto question = model::visibleText(textOf(task, "Question"));
        !question.empty() && view.parked == "question")
      for (const auto line : linesOf(question))
        session.print(std::format("  {}\n", line));
    if (view.state != "done") {
      std::string next;
      for (const auto& command : view.nextCommands())
        next += (next.empty() ? "next: " : "   ") + session.command(command);
      session.note(next + "\n");
    }
  }
  if (view.needsYou()) return ExitCode::NeedsYou;
  return view.state == "done" ? ExitCode::Done : ExitCode::Failed;
}

Outcome watch(Session& session, const TaskOption& option) {
  auto bus = session.connect();
  if (!bus) return std::unexpected(bus.error());
  const auto task = chooseTask(session, **bus, option, WhenMissing::WaitingOrLive);
  if (!task) return std::unexpected(task.error());
  const auto id = *session.task();

  // First the signals, then the state: what happens in between is seen twice rather than never.
  bool changed = true;
  (*bus)->manager().subscribe({{"task", sdbus::Variant(id)}},
                              [&](std::uint64_t which) { changed = changed || which == id; });

  struct sigaction action{};
  action.sa_handler = onInterrupt;
  sigaction(SIGINT, &action, nullptr);

  const bool live = session.terminal().output && !session.json();
  Watcher watcher(session, live);
  if (!session.json() && option.id) {
    const TaskView view((*task)->properties());
    session.print(session.paint()(Tone::Strong, view.name()) + "\n");
  }
  Dictionary properties;
  std::string title;
  try {
    while (interrupted == 0) {
      if (changed) {
        changed = false;
        properties = (*task)->properties();
        watcher.update(properties, (*task)->listRuns());
        const TaskView view(properties);
        title = view.state;
        if (view.ended() || view.needsYou()) {
          watcher.clear();
          return finish(session, properties);
        }
      }
      watcher.tick(title);
      (*bus)->process(live ? kTick : kQuiet);
    }
  } catch (const sdbus::Error&) {
    // Ctrl-C also ends a call that is being waited for, which is no fault of the service.
    if (interrupted == 0) throw;
  }
  watcher.clear();
  session.note(std::format("Task {} goes on without being watched.\nnext: {}\n", id,
                           session.command(std::format("watch {}", id))));
  // As the shell expects of a program that was interrupted.
  std::signal(SIGINT, SIG_DFL);
  std::raise(SIGINT);
  return ExitCode::Failed;
}

}  // namespace

void addWatch(CLI::App& parent, Invocation& invocation) {
  const auto option = std::make_shared<TaskOption>();
  Verb verb(parent, invocation, "watch",
            "Shows what happens until the task needs you (exit code 6) or ends; Ctrl-C leaves it alone",
            {"watch", "watch 17"});
  addTaskOption(verb, *option);
  verb.runs([option](Session& session) { return watch(session, *option); });
}

}  // namespace coffer::cli
