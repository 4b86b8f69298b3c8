#include <utility>

#include <sys/statvfs.h>

#include "dbus/names.hpp"
#include "engine/choice.hpp"
#include "engine/image_mounts.hpp"
#include "engine/keep.hpp"
#include "engine/session.hpp"
#include "engine/step_run.hpp"
#include "engine/turn_plan.hpp"
#include "engine/turn_result.hpp"
#include "engine/unit_input.hpp"
#include "model/limits.hpp"
#include "model/spelling.hpp"
#include "os/clock.hpp"
#include "os/event.hpp"
#include "os/halt_point.hpp"
#include "os/log.hpp"

namespace coffer::engine {
namespace {

using model::TurnOutcome;

// Brings a workspace to the candidate, by a worker with the agent's uid before the agent is there.
Async<std::expected<void, Error>> prepareCandidate(StepRun& run, const TurnPlan& plan, Session& session) {
  if (auto shown = session.remount(false); !shown) co_return shown;
  auto identity = run.context->identities.announce(plan.uid);
  if (!identity) co_return std::unexpected(identity.error());
  if (auto made = co_await checkoutCandidate(run, session, *identity); !made) co_return made;
  co_return session.remount(!writes(run));
}

// What a power cut took from the task's disk is made good before the agent begins: its memory is not asked for, its
// workspace is what was last taken in, and it is told.
Async<std::expected<void, Error>> makeGood(StepRun& run, TurnPlan& plan, Session& session) {
  auto& context = *run.context;
  if (!plan.session.empty() && !session.holds(homeFolder(plan))) {
    auto anew = planTurn(run, false, true);
    if (!anew) co_return std::unexpected(anew.error());
    plan = std::move(*anew);
  }
  auto told = tellTurn(context, run.task.id, run.step.name);
  if (!told) co_return std::unexpected(told.error());
  auto notice = std::move(*told);
  if (writes(run) && imageLost(context, run.task.id)) {
    if (notice.empty()) notice = "The task's disk was lost in a crash: the work is as it was last taken in.";
    if (!run.task.writerCommit.empty()) {
      auto identity = context.identities.announce(plan.uid);
      if (!identity) co_return std::unexpected(identity.error());
      if (auto brought = co_await checkoutCommit(run, session, *identity, run.task.writerCommit); !brought)
        co_return brought;
    }
    if (auto forgotten = forgetLost(context, run.task.id); !forgotten) co_return forgotten;
  }
  if (!notice.empty()) plan.prompt += "\nFrom Cofferdam, before you begin: " + notice + "\n";
  co_return {};
}

// The row of a run whose surroundings could not be made: it ended with that.
void endUnstarted(StepRun& run, const Error& why) {
  const auto record = run.context->store->runs().byUnit(run.step.name);
  if (!record || !*record) return;
  store::RunEnd end;
  end.run = (*record)->id;
  end.ended = os::now();
  end.result = "not-started";
  end.text = why.message;
  if (auto noted = run.context->store->runs().end(end); !noted) log::warning(noted.error().message);
}

// Starts the agent, or finds the one that runs, or the record of the one that ended; nothing when PID 1 forgot it.
Async<std::expected<std::optional<sandbox::UnitEnd>, Error>> runAgent(StepRun& run, const TurnPlan& plan,
                                                                      Session& session, bool began) {
  auto& context = *run.context;
  const auto unit = run.step.name + ".service";
  auto state = co_await context.systemd->state(unit);
  if (!state) co_return std::unexpected(state.error());
  if (!state->loaded) {
    // It was asked for and PID 1 does not know it: a reboot, a crash, or somebody stopped it while nobody looked.
    if (began) co_return std::nullopt;
    auto identity = context.identities.announce(plan.uid);
    if (!identity) co_return std::unexpected(identity.error());
    std::vector<InputFile> files = {{"request.md", plan.prompt},
                                    {"command", plan.command.toRecords("/src", "/task/in/request.md").serialize()}};
    for (const auto& [name, bytes] : agents::turnFiles(plan.brief))
      files.push_back({name, bytes});
    for (const auto& [name, bytes] : plan.command.files)
      files.push_back({"files/" + name, bytes});
    auto in = writeInput(context.places, run.step.name, *identity, files);
    if (!in) co_return std::unexpected(in.error());
    auto outputs = session.outputs(run.step.name);
    if (!outputs) co_return std::unexpected(outputs.error());
    if (run.overtaken()) {
      const Error otherwise{ErrorCode::Cancelled, "the task was decided otherwise before " + unit};
      endUnstarted(run, otherwise);
      co_return std::unexpected(otherwise);
    }
    os::haltAt("start", run.step.name);
    auto description =
        std::make_shared<sandbox::Unit>(sandbox::agentUnit(agentSpec(run, plan, session, *identity, *in, *outputs)));
    // What it may connect to is started beside it: the listeners are there, and connections wait on them.
    auto starting = begin(context.systemd->startUnit(description));
    auto served = co_await session.serve();
    auto started = co_await starting;
    if (started && !served) started = served;
    if (!started) {
      co_await context.systemd->remove(unit);
      endUnstarted(run, started.error());
      co_return std::unexpected(started.error());
    }
  } else if (state->running()) {
    if (auto served = co_await session.serve(); !served) co_return std::unexpected(served.error());
  }
  co_return co_await context.systemd->waitForEnd(unit);
}

bool hasRoom(const Context& context) {
  struct statvfs status{};
  return ::statvfs(context.places.state.c_str(), &status) < 0 ||
         status.f_bavail * status.f_frsize >= limits::kStoreReserveBytes / 2;
}

// What a turn left is read, and its end is written down, when there is room for both. Until then PID 1 has the record
// and the image the work: an agent that was paid for is not run again because a disk was full.
Async<Done> roomToRecord(const StepRun& run) {
  if (hasRoom(*run.context)) co_return Done{};
  log::error("step " + run.step.name + " has ended, but there is no room in " + run.context->places.state +
                 " to write that down. It goes on when there is.",
             {{names::kFieldTask, std::to_string(run.task.id)}});
  // Who cancels the task does not wait for room.
  while (!hasRoom(*run.context) && !run.overtaken())
    co_await os::pause(run.context->event, static_cast<std::uint64_t>(limits::kSpaceCheckTime.count()));
  co_return Done{};
}

}  // namespace

Async<std::expected<StepOutcome, Error>> performTurn(StepRun& run) {
  auto& context = *run.context;
  auto record = context.store->runs().byUnit(run.step.name);
  if (!record) co_return std::unexpected(record.error());
  const bool began = record->has_value();
  // Whoever may no longer spend a key has spent it where the turn runs.
  if (auto groups = co_await spendingGroups(context, run.task.owner))
    run.ownerGroups = *std::move(groups);
  else if (!began)
    co_return std::unexpected(groups.error());
  auto plan = planTurn(run, began);
  if (!plan) co_return std::unexpected(plan.error());
  if (auto missing = agents::notInstalled(*plan->descriptor); missing && !began)
    co_return std::unexpected(
        Error{ErrorCode::NoAgent, *missing + " Then: coffer retry " + std::to_string(run.task.id) + "."});
  if (!began && budgetLeft(run) == 0) {
    StepOutcome refused;
    refused.fact = model::TurnEnded{.step = run.step.name, .outcome = TurnOutcome::OverBudget};
    co_return refused;
  }
  std::expected<std::string, Error> checkout;
  if (!run.trial) checkout = co_await ensureCheckout(run, run.task.start(), run.task.branch);
  if (!checkout) co_return std::unexpected(checkout.error());
  const auto& configuration = run.settings.configuration->current();
  auto slices =
      co_await makeSlices(context, run.task.id, run.task.owner, boxLimits(configuration), userLimits(configuration));
  if (!slices) co_return std::unexpected(slices.error());

  std::uint64_t runId = began ? (*record)->id : 0;
  const bool ended = began && (*record)->end.ended != 0;

  auto held = std::make_shared<Session>(context, sessionFor(run, *plan, *checkout));
  auto& session = *held;
  if (auto opened = co_await session.open(); !opened) {
    co_await session.close();
    co_return std::unexpected(opened.error());
  }
  const auto prepared = co_await context.systemd->state(run.step.name + ".service");
  if (prepared && !prepared->loaded && !began) {
    if (auto good = co_await makeGood(run, *plan, session); !good) {
      co_await session.close();
      co_return std::unexpected(good.error());
    }
  }
  if (beginsAtBase(run, *plan) && prepared && !prepared->loaded && !began) {
    auto serving = begin(session.serve());
    auto ready = co_await prepareCandidate(run, *plan, session);
    if (auto served = co_await serving; ready && !served) ready = served;
    if (!ready) {
      co_await session.close();
      co_return std::unexpected(ready.error());
    }
  }

  // The row is there before the unit is asked for, so that a unit without a row is nobody's and a row without a unit is
  // told.
  if (!began) {
    store::RunStart begin;
    begin.task = run.task.id;
    begin.step = run.step.name;
    begin.kind = "turn";
    begin.role = model::spell(run.step.role);
    begin.agent = plan->binding.agent;
    begin.model = plan->binding.model;
    begin.round = run.step.round;
    begin.attempt = run.step.attempt;
    begin.unit = run.step.name;
    begin.conversation = plan->conversation;
    begin.uid = plan->uid;
    begin.started = os::now();
    auto id = context.store->runs().begin(begin);
    if (!id) {
      co_await session.close();
      co_return std::unexpected(id.error());
    }
    runId = *id;
  }

  sandbox::UnitEnd end;
  bool known = true;
  if (ended) {
    const auto& kept = (*record)->end;
    end.result = kept.result;
    end.code = kept.code;
    end.status = kept.status;
    end.startedUs = (*record)->start.started;
    end.endedUs = kept.ended;
    known = kept.result != "interrupted";
  } else {
    auto ran = co_await runAgent(run, *plan, session, began);
    if (!ran) {
      // Nothing that the agent stands on is taken away while it may still run.
      if (auto gone = co_await context.systemd->remove(run.step.name + ".service")) co_await session.close();
      co_return std::unexpected(ran.error());
    }
    os::haltAt("end", run.step.name);
    known = ran->has_value();
    if (known) end = **ran;
    if (!known) end.result = "interrupted";
  }

  co_await roomToRecord(run);
  auto [fact, outcome, told] = co_await readTurn(run, *plan, session, runId, end, known);
  // PID 1 holds the record until ours is on disk.
  if (!ended) {
    const auto refused = co_await session.refusals(std::string(model::spell(run.step.role)));
    if (auto noted = recordEnd(run, refused, runId, end, fact.usage, told); !noted) {
      co_await session.close();
      co_return std::unexpected(noted.error());
    }
    os::haltAt("recorded", run.step.name);
  }
  co_await context.systemd->remove(run.step.name + ".service");
  outcome.session = std::move(held);
  static_cast<void>(removeInput(context.places, run.step.name));
  context.releaseUid(run.task.id, run.unit("collect"));
  outcome.fact = std::move(fact);
  co_return outcome;
}

}  // namespace coffer::engine
