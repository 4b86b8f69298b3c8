#include "engine/snapshot.hpp"

#include <algorithm>

#include "engine/keep.hpp"
#include "engine/owner_directory.hpp"
#include "engine/step_run.hpp"
#include "engine/task_images.hpp"
#include "model/digest.hpp"
#include "os/clock.hpp"

namespace coffer::engine {
namespace {

// Reads the owner's repository as the owner and leaves its commits as a pack that nobody has looked at yet.
Async<std::expected<WorkerResult, Error>> exportAsOwner(StepRun& run, std::string ref, std::vector<std::string> known) {
  auto& context = *run.context;
  const auto place = co_await context.repositories.enter(run.task.owner);
  if (run.overtaken())
    co_return std::unexpected(Error{ErrorCode::Cancelled, "the task was decided otherwise before " + run.step.name});
  const auto source = run.task.id ? "t" + std::to_string(run.task.id) : "p" + std::to_string(run.project.id);
  auto directory = co_await openAsOwner(context, run.unit("open"), run.task.owner, run.project.directory);
  if (!directory) co_return std::unexpected(directory.error());
  auto attached = attachOwner(*context.walls, context.places, source, *directory, false);
  if (!attached) co_return std::unexpected(attached.error());

  WorkerRun worker;
  worker.unit = run.unit("export");
  worker.slice = run.slice();
  worker.identity = {run.task.owner, std::to_string(run.task.owner)};
  worker.asOwner = true;
  worker.program = "coffer-repository";
  worker.verb = "export";
  worker.request.add("ref", ref);
  worker.request.add("status", "1");
  for (const auto& base : known)
    worker.request.add("have", base);
  worker.readOnly = stores(run, false);
  worker.readOnly.insert(worker.readOnly.end(), attached->binds.begin(), attached->binds.end());
  auto result = co_await runWorker(*context.systemd, context.places, std::move(worker));
  auto detached = detachOwner(*context.walls, source);
  if (result && !detached) co_return std::unexpected(detached.error());
  co_return result;
}

std::string shownPaths(const Records& report) {
  std::string list;
  for (const auto path : report.all("dirty"))
    list.append(path).append("\n");
  const auto count = report.number("dirty-count");
  const auto told = report.all("dirty").size();
  if (count > told) list += "and " + std::to_string(count - told) + " more\n";
  return list;
}

// Where a task's work goes on: its own objects and its disk images. What is there already stays.
Async<std::expected<void, Error>> makePlaces(StepRun& run) {
  auto& context = *run.context;
  if (auto made = makePath(context.places.taskObjects(run.task.id) + "/pack"); !made) co_return made;
  const auto& limits = run.settings.configuration->current();
  co_return co_await makeImages(context, run.task.id, run.task.owner, limits.taskImageMib << 20U,
                                limits.outputImageMib << 20U);
}

}  // namespace

Async<std::expected<Snapshot, Error>> takeCommit(StepRun& run, std::string ref) {
  auto& context = *run.context;
  const auto& places = context.places;
  if (auto made = makePath(places.projectObjects(run.project.id) + "/pack"); !made)
    co_return std::unexpected(made.error());

  auto known = context.bases(run.project.id);
  known.insert(known.end(), run.task.bases.begin(), run.task.bases.end());
  auto exported = co_await exportAsOwner(run, std::move(ref), known);
  if (!exported) co_return std::unexpected(exported.error());
  Snapshot snapshot;
  snapshot.commit = exported->report.get("commit");
  snapshot.branch = exported->report.get("branch");
  snapshot.notIn = shownPaths(exported->report);

  if (std::ranges::find(known, snapshot.commit) == known.end()) {
    Records request;
    request.add("commit", snapshot.commit);
    for (const auto& base : known)
      request.add("have", base);
    // The pack is the owner's file, and the importer is not the owner.
    if (auto shown = showPack(exported->output); !shown) co_return std::unexpected(shown.error());
    auto binds = stores(run, false);
    binds.push_back({exported->output, "/in/pack"});
    auto imported =
        co_await runOwnWorker(run, "import", "coffer-repository", "import", std::move(request), std::move(binds));
    if (!imported) {
      static_cast<void>(removeOutput(places, run.unit("export")));
      co_return std::unexpected(imported.error());
    }
    auto kept = keepPacks(imported->output, places.projectObjects(run.project.id));
    static_cast<void>(removeOutput(places, run.unit("import")));
    context.releaseUid(run.task.id, run.unit("import"));
    if (!kept) co_return std::unexpected(kept.error());
  }
  static_cast<void>(removeOutput(places, run.unit("export")));
  // A project that is being added has its first one when all of it is there.
  if (run.task.id)
    if (auto noted = context.store->projects().setBase(run.project.id, snapshot.commit); !noted)
      co_return std::unexpected(noted.error());
  co_return snapshot;
}

Async<std::expected<Snapshot, Error>> takeSnapshot(StepRun& run) {
  std::string head = "HEAD";
  auto snapshot = co_await takeCommit(run, std::move(head));
  if (!snapshot) co_return snapshot;
  if (auto checkout = co_await ensureCheckout(run, snapshot->commit, snapshot->branch); !checkout)
    co_return std::unexpected(checkout.error());
  co_return snapshot;
}

Async<std::expected<StepOutcome, Error>> performSnapshot(StepRun& run) {
  auto snapshot = co_await takeSnapshot(run);
  if (!snapshot) co_return std::unexpected(snapshot.error());
  if (auto places = co_await makePlaces(run); !places) co_return std::unexpected(places.error());

  // The writer's conversation has its uid before a person is asked: what is accepted starts the sooner.
  if (auto writer = run.context->store->conversations().get(run.task.id, run.task.flow.writer, os::now()); !writer)
    co_return std::unexpected(writer.error());

  StepOutcome outcome;
  model::SnapshotTaken fact;
  fact.step = run.step.name;
  fact.base = snapshot->commit;
  fact.branch = snapshot->branch;
  if (!snapshot->notIn.empty()) {
    fact.notIn = model::sha256(snapshot->notIn);
    outcome.texts.push_back(snapshot->notIn);
  }
  outcome.fact = fact;
  co_return outcome;
}

Async<std::expected<StepOutcome, Error>> performRestore(StepRun& run) {
  auto checkout = co_await ensureCheckout(run, run.task.start(), run.task.branch);
  if (!checkout) co_return std::unexpected(checkout.error());
  auto places = co_await makePlaces(run);
  if (!places) co_return std::unexpected(places.error());
  StepOutcome outcome;
  outcome.fact = model::Restored{run.step.name};
  co_return outcome;
}

}  // namespace coffer::engine
