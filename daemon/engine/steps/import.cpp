#include <cctype>
#include <memory>
#include <utility>

#include "engine/keep.hpp"
#include "engine/message.hpp"
#include "engine/session.hpp"
#include "engine/step_run.hpp"
#include "model/digest.hpp"
#include "os/clock.hpp"

namespace coffer::engine {
namespace {

// Reads the writer's clone with the writer's uid (its files are readable to nobody else) as a bare object database.
Async<std::expected<WorkerResult, Error>> exportClone(StepRun& run, const std::string& checkout,
                                                      std::shared_ptr<Session>& held) {
  auto& context = *run.context;
  const auto letter = run.task.flow.writer;
  std::string lower(letter);
  for (auto& c : lower)
    c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  auto conversation = context.store->conversations().get(run.task.id, letter, os::now());
  if (!conversation) co_return std::unexpected(conversation.error());
  const auto uid = conversation->uid;
  SessionSpec spec;
  spec.task = run.task.id;
  spec.owner = run.task.owner;
  spec.run = run.step.name;
  spec.uid = uid;
  spec.checkout = checkout;
  spec.layer = "ws-" + lower;
  spec.readOnly = true;
  spec.network = false;
  auto session = std::make_shared<Session>(context, spec);
  std::expected<WorkerResult, Error> result = std::unexpected(Error{});
  auto identity = context.identities.announce(uid);
  if (auto opened = co_await session->open(); !opened || !identity) {
    result = std::unexpected(opened ? identity.error() : opened.error());
  } else {
    WorkerRun worker;
    worker.unit = run.unit("export");
    worker.slice = run.slice();
    worker.identity = *identity;
    worker.program = "coffer-repository";
    worker.verb = "export";
    worker.request.add("ref", "HEAD");
    worker.request.add("agent", "1");
    for (const auto& base : run.task.bases)
      worker.request.add("have", base);
    if (!run.task.writerCommit.empty()) worker.request.add("have", run.task.writerCommit);
    worker.readOnly = stores(run, true);
    worker.readOnly.push_back({session->workspace(), "/in/source"});
    result = co_await runWorker(*context.systemd, context.places, std::move(worker));
  }
  // The images stay for the gate; whoever performs the step takes them away when none follows.
  const bool keep = result.has_value();
  if (auto closed = co_await session->close(keep); !closed && result) result = std::unexpected(closed.error());
  if (keep) held = std::move(session);
  co_return result;
}

// Faults of the work itself are told to the writer; the rest are faults of the machine.
bool writersFault(const Error& error) {
  return error.code == ErrorCode::RepositoryUnsupported || error.code == ErrorCode::NoCommit ||
         error.code == ErrorCode::TooLarge || error.code == ErrorCode::NoRepository ||
         error.code == ErrorCode::InvalidArgument;
}

StepOutcome refused(const StepRun& run, const Error& error, std::string feedback) {
  StepOutcome outcome;
  model::ImportRefused fact;
  fact.step = run.step.name;
  fact.error = error;
  outcome.texts.push_back(std::move(feedback));
  fact.feedback = model::sha256(outcome.texts.back());
  outcome.fact = fact;
  return outcome;
}

StepOutcome refused(const StepRun& run, const Error& error) {
  return refused(run, error, "The commits in /src could not be taken in.\n\n" + error.message + "\n");
}

Async<std::expected<StepOutcome, Error>> takeIn(StepRun& run, std::shared_ptr<Session>& held) {
  auto& context = *run.context;
  const auto& places = context.places;
  auto checkout = co_await ensureCheckout(run, run.task.start(), run.task.branch);
  if (!checkout) co_return std::unexpected(checkout.error());
  auto exported = co_await exportClone(run, *checkout, held);
  if (!exported) {
    if (writersFault(exported.error())) co_return refused(run, exported.error());
    co_return std::unexpected(exported.error());
  }
  const std::string commit(exported->report.get("commit"));

  Records request;
  request.add("commit", commit);
  request.add("agent", "1");
  for (const auto& base : run.task.bases) {
    request.add("base", base);
    request.add("have", base);
  }
  if (!run.task.writerCommit.empty()) request.add("have", run.task.writerCommit);
  if (auto shown = showPack(exported->output); !shown) co_return std::unexpected(shown.error());
  auto binds = stores(run, true);
  binds.push_back({exported->output, "/in/pack"});
  auto imported =
      co_await runOwnWorker(run, "import", "coffer-repository", "import", std::move(request), std::move(binds));
  static_cast<void>(removeOutput(places, run.unit("export")));
  if (!imported) {
    if (writersFault(imported.error())) co_return refused(run, imported.error());
    co_return std::unexpected(imported.error());
  }
  auto kept = keepPacks(imported->output, places.taskObjects(run.task.id));
  static_cast<void>(removeOutput(places, run.unit("import")));
  context.releaseUid(run.task.id, run.unit("import"));
  if (!kept) co_return std::unexpected(kept.error());

  model::Imported fact;
  fact.step = run.step.name;
  fact.writerCommit = commit;
  fact.tree = imported->report.get("tree");
  fact.changed = static_cast<std::int64_t>(imported->report.number("changed"));
  // The commit of the branch that the writer's work is about: it may have merged one that the branch has moved to.
  const std::string from(imported->report.get("base"));
  fact.nothing = commit == from || imported->report.number("nothing") == 1;
  for (const auto subject : imported->report.all("subject"))
    fact.subjects.append(subject).append("\n");
  if (!fact.nothing) {
    Records make;
    make.add("commit", commit);
    make.add("from", from);
    make.add("base", run.task.bases.back());
    make.add("message", commitMessage(run.task, fact.subjects));
    addAuthor(make, run);
    if (run.task.keepsCommits) keepCommits(make, run.task, commit);
    auto made =
        co_await runOwnWorker(run, "candidate", "coffer-repository", "candidate", std::move(make), stores(run, true));
    if (!made) co_return std::unexpected(made.error());
    if (const auto conflict = made->report.get("conflict"); !conflict.empty()) {
      const auto words = conflictFeedback(run.task, run.task.bases.back(), conflict);
      static_cast<void>(removeOutput(places, run.unit("candidate")));
      context.releaseUid(run.task.id, run.unit("candidate"));
      co_return refused(run, {ErrorCode::Stale, std::string(conflict)}, words);
    }
    fact.base = run.task.bases.back();
    fact.tree = made->report.get("tree");
    fact.changed = static_cast<std::int64_t>(made->report.number("changed"));
    fact.nothing = made->report.number("nothing") == 1;
    fact.candidate = made->report.get("candidate");
    kept = keepPacks(made->output, places.taskObjects(run.task.id));
    static_cast<void>(removeOutput(places, run.unit("candidate")));
    context.releaseUid(run.task.id, run.unit("candidate"));
    if (!kept) co_return std::unexpected(kept.error());
  }
  StepOutcome outcome;
  outcome.fact = std::move(fact);
  co_return outcome;
}

}  // namespace

Async<std::expected<StepOutcome, Error>> performImport(StepRun& run) {
  std::shared_ptr<Session> held;
  auto outcome = co_await takeIn(run, held);
  if (outcome)
    outcome->session = std::move(held);
  else if (held)
    co_await held->close();
  co_return outcome;
}

}  // namespace coffer::engine
