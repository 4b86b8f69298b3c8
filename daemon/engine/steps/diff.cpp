#include "engine/keep.hpp"
#include "engine/step_run.hpp"
#include "model/digest.hpp"
#include "model/limits.hpp"
#include "os/beneath.hpp"

namespace coffer::engine {

Async<std::expected<StepOutcome, Error>> performDiff(StepRun& run) {
  auto& context = *run.context;
  Records request;
  request.add("base", run.step.base.empty() ? run.task.base : run.step.base);
  request.add("candidate", run.step.candidate);
  auto made = co_await runOwnWorker(run, "diff", "coffer-repository", "diff", std::move(request), stores(run, true));
  if (!made) co_return std::unexpected(made.error());
  const auto directory = context.places.diffs(run.task.id);
  auto kept = keepFile(made->output, "diff", directory, run.step.candidate, limits::kDiffBytes);
  static_cast<void>(removeOutput(context.places, run.unit("diff")));
  context.releaseUid(run.task.id, run.unit("diff"));
  if (!kept) co_return std::unexpected(kept.error());
  auto opened = os::openDirectory(directory);
  if (!opened) co_return std::unexpected(opened.error());
  auto bytes = os::readBeneath(opened->get(), run.step.candidate, limits::kDiffBytes);
  if (!bytes) co_return std::unexpected(bytes.error());
  StepOutcome outcome;
  outcome.fact = model::DiffReady{run.step.name, run.step.candidate, model::sha256(*bytes)};
  co_return outcome;
}

}  // namespace coffer::engine
