#include "engine/keep.hpp"
#include "engine/message.hpp"
#include "engine/snapshot.hpp"
#include "engine/step_run.hpp"
#include "model/digest.hpp"

namespace coffer::engine {
namespace {

// The landing comes to nothing, and the writer can do something about it.
StepOutcome conflicts(const StepRun& run, const std::string& tip, std::string_view words) {
  StepOutcome outcome;
  model::StepFailed fact;
  fact.step = run.step.name;
  fact.error = {ErrorCode::Stale, conflictWords(run.task, tip, words)};
  fact.base = tip;
  outcome.texts.push_back(conflictFeedback(run.task, tip, words));
  fact.feedback = model::sha256(outcome.texts.back());
  outcome.fact = std::move(fact);
  return outcome;
}

}  // namespace

Async<std::expected<StepOutcome, Error>> moveCandidate(StepRun& run) {
  auto& context = *run.context;
  const auto branch = shortBranch(run.task.branch);
  std::string ref = run.task.branch;
  auto tip = co_await takeCommit(run, std::move(ref));
  if (!tip && tip.error().code == ErrorCode::NoCommit)
    co_return std::unexpected(Error{ErrorCode::BaseGone, "The branch " + branch + " is no longer in " +
                                                             run.project.directory +
                                                             ". Make it again, or accept with --branch NAME."});
  if (!tip) co_return std::unexpected(tip.error());

  Records request;
  request.add("commit", run.step.candidate);
  request.add("from", run.task.base);
  request.add("base", tip->commit);
  addAuthor(request, run);
  if (run.task.keepsCommits) keepCommits(request, run.task, run.task.writerCommit);
  auto made =
      co_await runOwnWorker(run, "candidate", "coffer-repository", "candidate", std::move(request), stores(run, true));
  if (!made) co_return std::unexpected(made.error());
  auto kept = keepPacks(made->output, context.places.taskObjects(run.task.id));
  static_cast<void>(removeOutput(context.places, run.unit("candidate")));
  context.releaseUid(run.task.id, run.unit("candidate"));
  if (!kept) co_return std::unexpected(kept.error());
  if (const auto words = made->report.get("conflict"); !words.empty()) co_return conflicts(run, tip->commit, words);
  if (made->report.number("nothing") == 1)
    co_return std::unexpected(
        Error{ErrorCode::WrongState, "Everything that the work changes is on " + branch +
                                         " already, so there is nothing to land. Cancel the task, or reply."});
  StepOutcome outcome;
  model::CandidateMoved fact;
  fact.step = run.step.name;
  fact.base = tip->commit;
  fact.candidate = made->report.get("candidate");
  fact.tree = made->report.get("tree");
  outcome.fact = std::move(fact);
  co_return outcome;
}

}  // namespace coffer::engine
