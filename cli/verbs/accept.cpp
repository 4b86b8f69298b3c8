#include <chrono>
#include <format>
#include <memory>
#include <string>
#include <tuple>

#include "diff_text.hpp"
#include "model/visible_text.hpp"
#include "session.hpp"
#include "shown_digests.hpp"
#include "task_choice.hpp"
#include "task_details.hpp"
#include "task_text.hpp"
#include "task_view.hpp"
#include "verb.hpp"
#include "verbs.hpp"

namespace coffer::cli {

namespace {

struct Options {
  TaskOption task;
  std::string digest;
  std::string branch;
  bool noWait = false;
};

enum class What { Plan, Work };

/// A call of Wait comes back at least this often, so that progress and Ctrl-C stay alive over a slow link.
constexpr Microseconds kWait = std::chrono::seconds(30);

/// What the digest, or else the task's state, says is meant; nothing when there is nothing to accept.
std::optional<What> whatToAccept(const Dictionary& task, const TaskView& view, const std::string& digest) {
  // A digest that was accepted before gets its first answer again, so it counts whatever the state is by now.
  if (!digest.empty() && digest == textOf(task, "PlanDigest")) return What::Plan;
  if (!digest.empty() && digest == textOf(task, "WorkDigest")) return What::Work;
  if (view.allows("accept-plan")) return What::Plan;
  if (view.allows("accept-work")) return What::Work;
  // Not for us to judge: the service says what is stale and why.
  if (!digest.empty()) return textOf(task, "WorkDigest").empty() ? What::Plan : What::Work;
  return std::nullopt;
}

std::string summaryOfWork(const Session& session, const Dictionary& task, const std::string& diff) {
  const auto branch = baseBranch(task);
  return std::format("  commit {}\n  onto   {}{}\n", textOf(task, "Candidate"), shortCommit(textOf(task, "Base")),
                     branch.empty() ? "" : " (" + branch + ")") +
         summaryOf(filesOf(diff), session.paint());
}

/// Shows what is about to be accepted and asks; gives the digest of exactly what was shown.
std::expected<std::string, Failure> ask(const Session& session, TaskClient& task, const Dictionary& properties,
                                        What what) {
  const TaskView view(properties);
  const std::string of = what == What::Plan ? "plan" : "diff";
  const auto text = session.during("Reading the " + of, [&] { return readTaskText(task, of); });
  if (text.cut)
    return failure(ExitCode::Failed,
                   "It is longer than what can be shown; read it elsewhere and name its digest with --digest.");
  const auto shown = what == What::Plan ? model::visibleText(text.text) : visibleDiff(text.text);
  const auto memory = ShownDigests::ofUser();
  const auto before = memory.when(text.digest);
  if (!before) {
    session.printLong(what == What::Plan ? shown + (shown.ends_with('\n') ? "" : "\n")
                                         : paintedDiff(shown, session.paint()));
    memory.remember(text.digest, currentTime());
  }
  session.print(std::format("\n{} of task {}\n", what == What::Plan ? "The plan" : "The work", view.name()));
  if (what == What::Work) session.print(summaryOfWork(session, properties, shown));
  session.print(std::format("  digest {}\n", text.digest));
  if (before) session.print(std::format("  You have been shown it {}.\n", relativeTime(*before, currentTime())));
  const auto* question = what == What::Plan ? "Accept this plan?" : "Accept this work and land it?";
  if (!confirm(question))
    return failure(ExitCode::Failed, "Nothing was accepted.",
                   session.command(std::format("reply {} \"...\"", view.id)));
  return text.digest;
}

/// Waits until accepted work has landed, or says why it did not. Work whose branch had moved is verified on the way and
/// comes back to be accepted as it is then.
Outcome awaitLanding(Session& session, TaskClient& task, const std::string& commit) {
  Dictionary properties = task.properties();
  {
    const auto progress = session.progress("Landing " + shortCommit(commit));
    while (TaskView(properties).parked.empty() &&
           (textOf(properties, "State") == "landing" || textOf(properties, "State") == "ready" ||
            textOf(properties, "State") == "verifying") &&
           !TaskView(properties).allows("accept-work")) {
      task.wait(numberOf(properties, "Sequence"), static_cast<std::uint64_t>(kWait.count()));
      properties = task.properties();
    }
  }
  const TaskView view(properties);
  const bool landed = view.state == "landed" || view.state == "pushing" || view.state == "done";
  if (session.json()) {
    // What did not land is told by the failure: one object either way.
    if (landed) session.print(Json::of(properties).add("Accepted", "work").add("Commit", commit));
  } else {
    for (const auto& landing : landingsOf(properties))
      session.print(std::format("Landed {}.\n", landing));
  }
  if (landed) return ExitCode::Done;
  const auto problem = valueOf<sdbus::Struct<std::string, std::string>>(properties, "Problem");
  std::string words = model::visibleText(std::get<1>(problem));
  if (words.empty()) words = view.waitingWords;
  if (words.empty()) words = "It was accepted but did not land: " + view.where() + ".";
  const auto& name = std::get<0>(problem).empty() ? view.waitingCode : std::get<0>(problem);
  return std::unexpected(Failure{.exit = view.needsYou() ? ExitCode::NeedsYou : ExitCode::Failed,
                                 .name = model::visibleText(name),
                                 .message = words,
                                 .next = session.command(std::format("show {}", view.id))});
}

Outcome accept(Session& session, const Options& options) {
  auto bus = session.connectForChange();
  if (!bus) return std::unexpected(bus.error());
  const auto task = chooseTask(session, **bus, options.task);
  if (!task) return std::unexpected(task.error());
  const auto properties = (*task)->properties();
  const TaskView view(properties);
  const auto what = whatToAccept(properties, view, options.digest);
  if (!what)
    return failure(ExitCode::Failed, std::format("Task {} has nothing to accept: {}.", view.name(), view.where()),
                   session.command(view.nextCommands().front()));
  if (*what == What::Plan && !options.branch.empty())
    return usageFailure("--branch says where work lands; this is a plan.");

  auto digest = options.digest;
  if (digest.empty()) {
    if (!session.terminal().input || session.json())
      return usageFailure("Nobody can be asked here, so name what you accept with --digest.",
                          session.command(std::format("{} {}", *what == What::Plan ? "plan" : "diff", view.id)));
    auto asked = ask(session, **task, properties, *what);
    if (!asked) return std::unexpected(asked.error());
    digest = std::move(*asked);
  }

  if (*what == What::Plan) {
    {
      const auto progress = session.progress("Accepting the plan");
      (*task)->acceptPlan(digest, changeOptions());
    }
    if (session.json()) {
      session.print(Json().add("Id", view.id).add("Accepted", "plan").add("Digest", digest));
      return ExitCode::Done;
    }
    session.print(std::format("Accepted the plan of task {}, {}.\n", view.name(), digest));
    session.note("next: " + session.command(std::format("watch {}", view.id)) + "\n");
    return ExitCode::Done;
  }

  auto call = changeOptions();
  if (!options.branch.empty()) call.emplace("branch", sdbus::Variant(options.branch));
  std::string commit;
  {
    const auto progress = session.progress("Accepting the work");
    commit = (*task)->acceptWork(digest, call);
  }
  if (!session.json()) session.print(std::format("Accepted the work of task {}, {}.\n", view.name(), digest));
  if (options.noWait) {
    if (session.json())
      session.print(Json().add("Id", view.id).add("Accepted", "work").add("Digest", digest).add("Commit", commit));
    return ExitCode::Done;
  }
  return awaitLanding(session, **task, commit);
}

}  // namespace

void addAccept(CLI::App& parent, Invocation& invocation) {
  const auto options = std::make_shared<Options>();
  Verb verb(parent, invocation, "accept", "Accepts a plan, or work and lands it; shows what it accepts and asks",
            {"accept 17", "accept 17 --digest sha256:...", "accept 17 --branch try-it"});
  addTaskOption(verb, options->task);
  verb.option("--digest", options->digest,
              "Exactly this plan or work, without a question; coffer plan and coffer diff print it");
  verb.option("--branch", options->branch, "Land on this branch, made if need be");
  verb.flag("--no-wait", options->noWait, "Do not wait until it has landed");
  verb.runs([options](Session& session) { return accept(session, *options); });
}

}  // namespace coffer::cli
