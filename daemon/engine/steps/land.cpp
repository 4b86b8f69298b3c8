#include "dbus/names.hpp"
#include "engine/keep.hpp"
#include "engine/message.hpp"
#include "engine/owner_directory.hpp"
#include "engine/step_run.hpp"
#include "os/log.hpp"

namespace coffer::engine {
namespace {

constexpr std::string_view kZeros = "0000000000000000000000000000000000000000";

// What is verified of a commit is worth something to whoever finds it in the repository.
std::string noteOf(const model::Task& task) {
  std::string text = "Coffer-Gate: run " + std::to_string(task.gate.run) + "\n";
  if (task.review.run)
    text += "Coffer-Review: run " + std::to_string(task.review.run) + " " + task.review.digest + "\n";
  return text + "Coffer-Work: " + task.workAccepted + "\n";
}

}  // namespace

Async<std::expected<StepOutcome, Error>> performLand(StepRun& run) {
  auto& context = *run.context;
  const auto& places = context.places;
  if (run.step.branch.empty() && run.task.branch.empty())
    co_return std::unexpected(Error{ErrorCode::WrongState,
                                    "The task started from a commit that was on no branch (a detached HEAD), so there "
                                    "is none to land on. Accept again with --branch NAME."});
  const bool elsewhere = !run.step.branch.empty() && run.step.branch != run.task.branch;
  // A branch of another name is made; one that is where we left it is ours to move.
  auto before = context.store->tasks().lastLanded(run.project.id, run.step.branch);
  if (!before) co_return std::unexpected(before.error());
  Records pack;
  pack.add("base", run.task.base);
  pack.add("candidate", run.step.candidate);
  auto packing = begin(runOwnWorker(run, "pack", "coffer-repository", "pack", std::move(pack), stores(run, true)));
  auto place = co_await context.repositories.enter(run.task.owner);
  const auto source = "t" + std::to_string(run.task.id) + "-land";
  auto directory = co_await openAsOwner(context, run.unit("open"), run.task.owner, run.project.directory);
  auto packed = co_await packing;
  if (!packed) co_return std::unexpected(packed.error());
  if (auto shown = showFiles(packed->output, {"pack", "idx"}); !shown) co_return std::unexpected(shown.error());
  if (!directory) co_return std::unexpected(directory.error());
  auto attached = attachOwner(*context.walls, places, source, *directory, true);
  if (!attached) co_return std::unexpected(attached.error());
  *directory = {};

  WorkerRun worker;
  worker.unit = run.unit("write");
  worker.slice = run.slice();
  worker.identity = {run.task.owner, std::to_string(run.task.owner)};
  worker.asOwner = true;
  worker.program = "coffer-repository";
  worker.verb = "land";
  worker.request.add("branch", elsewhere ? run.step.branch : run.task.branch);
  worker.request.add("old", elsewhere ? before->value_or(std::string(kZeros)) : run.task.base);
  if (!run.step.branch.empty()) worker.request.add("create", "1");
  worker.request.add("note", noteOf(run.task));
  worker.request.add("new", run.step.candidate);
  worker.request.add("name", packed->report.get("name"));
  // The same landing has the same name however often it is tried, so that what a cut-off try left can be finished or
  // put back.
  worker.request.add("step", "task-" + std::to_string(run.task.id));
  worker.request.add("who", run.project.authorName + " <" + run.project.authorEmail + ">");
  worker.request.add("when", std::to_string(run.task.changed / 1'000'000) + " +0000");
  worker.readOnly = {{packed->output, "/in/pack"}};
  worker.writable = std::move(attached->binds);
  worker.locked = std::move(attached->locked);
  worker.pinned = std::move(attached->pinned);
  auto landed = co_await runWorker(*context.systemd, places, std::move(worker));
  static_cast<void>(removeOutput(places, run.unit("write")));
  static_cast<void>(removeOutput(places, run.unit("pack")));
  context.releaseUid(run.task.id, run.unit("pack"));
  auto detached = detachOwner(*context.walls, source);
  place.release();
  if (!detached) co_return std::unexpected(detached.error());
  if (!landed && landed.error().code == ErrorCode::Stale && !elsewhere) co_return co_await moveCandidate(run);
  if (!landed && landed.error().code == ErrorCode::Stale)
    co_return std::unexpected(Error{ErrorCode::NameTaken, "The branch " + shortBranch(run.step.branch) +
                                                              " is not where Cofferdam left it, so it is not moved. "
                                                              "Name another one, or remove it."});
  if (!landed) co_return std::unexpected(landed.error());

  if (landed->report.has("not-noted"))
    log::warning(
        "step " + run.step.name + ": there is no note on the commit: " + std::string(landed->report.get("not-noted")),
        {{names::kFieldTask, std::to_string(run.task.id)}});
  StepOutcome outcome;
  model::Landed fact;
  fact.step = run.step.name;
  fact.commit = landed->report.get("landed");
  fact.branch = landed->report.get("branch");
  fact.where = run.project.directory;
  if (fact.commit != run.step.candidate)
    co_return std::unexpected(Error{
        ErrorCode::Internal, "the landing reports " + fact.commit + ", but " + run.step.candidate + " was decided"});
  outcome.fact = std::move(fact);
  co_return outcome;
}

}  // namespace coffer::engine
