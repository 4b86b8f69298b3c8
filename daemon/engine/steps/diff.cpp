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
  for (const auto& [name, file] : run.settings.risky->all())
    for (const auto& path : file.paths)
      request.add("risky", path);
  auto made = co_await runOwnWorker(run, "diff", "coffer-repository", "diff", std::move(request), stores(run, true));
  if (!made) co_return std::unexpected(made.error());
  const auto directory = context.places.diffs(run.task.id);
  auto kept = keepFile(made->output, "diff", directory, run.step.candidate, limits::kDiffBytes);
  static_cast<void>(removeOutput(context.places, run.unit("diff")));
  context.releaseUid(run.task.id, run.unit("diff"));
  if (!kept) co_return std::unexpected(kept.error());
  // Half a diff is not what a person can accept.
  if (made->report.has("truncated")) {
    Error error{ErrorCode::TooLarge, "The change is larger than can be shown and accepted (" +
                                         std::to_string(limits::kDiffBytes >> 20U) +
                                         " MiB of diff); reply and ask for less, or for it in parts."};
    co_return std::unexpected(std::move(error));
  }
  auto opened = os::openDirectory(directory);
  if (!opened) co_return std::unexpected(opened.error());
  auto bytes = os::readBeneath(opened->get(), run.step.candidate, limits::kDiffBytes);
  if (!bytes) co_return std::unexpected(bytes.error());
  StepOutcome outcome;
  model::DiffReady fact;
  fact.step = run.step.name;
  fact.candidate = run.step.candidate;
  fact.diff = model::sha256(*bytes);
  fact.risky = static_cast<std::int64_t>(made->report.number("risky-count"));
  for (const auto path : made->report.all("risky"))
    fact.riskyPaths.append(path).append("\n");
  // What is risky is not known when a list cannot be read, and that is a reason to ask too.
  for (const auto& problem : run.settings.risky->problems()) {
    fact.risky += 1;
    fact.riskyPaths.append(problem).append("\n");
  }
  outcome.fact = std::move(fact);
  co_return outcome;
}

}  // namespace coffer::engine
