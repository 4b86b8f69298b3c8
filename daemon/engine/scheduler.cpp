#include "engine/scheduler.hpp"

#include <algorithm>
#include <utility>

#include "dbus/names.hpp"
#include "engine/image_mounts.hpp"
#include "engine/sandbox_needs.hpp"
#include "engine/session.hpp"
#include "engine/sweep.hpp"
#include "model/limits.hpp"
#include "os/clock.hpp"
#include "os/event.hpp"
#include "os/halt_point.hpp"
#include "os/log.hpp"

namespace coffer::engine {
namespace {

// Taking away what a dead task left can fail for a moment (something still writes back); it is tried again, ever less
// often.
constexpr std::uint64_t kCleanUpPauseUs = 1'000'000;
constexpr std::uint64_t kCleanUpPauseMaxUs = 300'000'000;

bool takesSlot(model::StepKind kind) { return kind == model::StepKind::Turn || kind == model::StepKind::Gate; }
AdmissionLimits limitsOf(const agents::Configuration& configuration) {
  AdmissionLimits limits;
  limits.places = placesOf(configuration);
  limits.placesOfUser = placesOfUser(configuration);
  limits.floorBytes = configuration.freeSpaceMib << 20U;
  limits.userDiskBytes = configuration.userDiskMib << 20U;
  limits.taskBytes = (configuration.taskImageMib + configuration.outputImageMib) << 20U;
  return limits;
}

// Whose images count as their owner's: those of every task that has not ended.
std::vector<std::uint64_t> tasksOf(store::Store& store, std::uint32_t owner) {
  std::vector<std::uint64_t> ids;
  store::TaskFilter filter;
  filter.owner = owner;
  filter.ended = false;
  if (const auto rows = store.tasks().list(filter, 0, limits::kLiveObjects))
    for (const auto& row : *rows)
      ids.push_back(row.id);
  return ids;
}

std::vector<std::uint64_t> projectsOf(store::Store& store, std::uint32_t owner) {
  std::vector<std::uint64_t> ids;
  if (const auto projects = store.projects().list(owner))
    for (const auto& project : *projects)
      ids.push_back(project.id);
  return ids;
}

// Steps that mount the task's images.
bool usesImages(model::StepKind kind) { return takesSlot(kind) || kind == model::StepKind::Import; }
bool cleansUp(model::StepKind kind) { return kind == model::StepKind::CleanUp || kind == model::StepKind::Erase; }

}  // namespace

Scheduler::Scheduler(Context& context, Canary& canary, Settings settings, Told told, Waits waits)
    : context_(context),
      canary_(canary),
      settings_(settings),
      told_(std::move(told)),
      admission_({context.event, context.places, [this] { return admissionLimits(); },
                  [this](std::uint32_t owner) { return tasksOf(*context_.store, owner); },
                  [this](std::uint32_t owner) { return projectsOf(*context_.store, owner); }, std::move(waits)}) {}

AdmissionLimits Scheduler::admissionLimits() const { return limitsOf(settings_.configuration->current()); }

void Scheduler::resume() {
  resumed_ = true;
  const auto tasks = context_.store->tasks().live();
  if (!tasks) {
    log::error("what is open cannot be read: " + tasks.error().message);
    return;
  }
  for (const auto& task : *tasks)
    follow(task);
}

std::expected<std::string, Error> Scheduler::submit(std::uint64_t id, const model::Fact& fact,
                                                    std::vector<std::string> texts,
                                                    std::vector<store::Finding> findings, const Call& call) {
  model::Task before;
  if (!std::holds_alternative<model::Created>(fact)) {
    auto found = context_.store->tasks().get(id);
    if (!found) return std::unexpected(found.error());
    before = std::move(*found);
  }
  const auto at = os::now();
  auto decision = model::decide(before, fact, at);
  if (!decision) return std::unexpected(decision.error());
  if (decision->already) return decision->answer;
  const auto answer = call.answer.empty() ? decision->answer : call.answer;
  store::Append what;
  what.events = std::move(decision->events);
  what.texts = std::move(texts);
  what.findings = std::move(findings);
  what.fromPerson = call.person;
  if (!call.id.empty()) what.request = store::RequestAnswer{call.uid, call.id, call.operation, answer, at};
  auto appended = context_.store->tasks().append(before, std::move(what));
  if (!appended) return std::unexpected(appended.error());
  if (appended->earlier) return *appended->earlier;
  told_(before, appended->task, appended->events);
  follow(appended->task);
  return answer;
}

void Scheduler::follow(const model::Task& task) {
  if (!resumed_) return;  // resume() follows them all
  if (task.parked.until) wakeAt(task.id, task.parked.until, task.sequence);
  const auto found = performing_.find(task.id);
  if (found == performing_.end()) {
    if (task.step) perform(task.id);
    return;
  }
  // What is being performed was overtaken by a decision: it is cut off, and what is open now follows it.
  auto& performing = found->second;
  if (!performing.stopping && (!task.step || task.step->name != performing.step)) {
    performing.stopping = true;
    stop(task.id, performing.step);
    admission_.withdraw(task.id);
  }
}

Detached Scheduler::stop(std::uint64_t id, std::string step) {
  auto units = co_await context_.systemd->list(step + "*");
  while (!units) {
    log::warning("step " + step + " cannot be stopped now and is tried again: " + units.error().message,
                 {{names::kFieldTask, std::to_string(id)}});
    co_await os::pause(context_.event, kCleanUpPauseUs * 5);
    const auto found = performing_.find(id);
    if (found == performing_.end() || found->second.step != step) co_return;
    units = co_await context_.systemd->list(step + "*");
  }
  // The gateway stays until the step itself stops it: it still has to say what the turn cost.
  for (const auto& unit : *units)
    if (unit == step + ".service" || (unit.starts_with(step + "-c") && unit.ends_with(".service")))
      co_await context_.systemd->remove(unit);
}

Detached Scheduler::wakeAt(std::uint64_t id, std::uint64_t until, std::uint64_t sequence) {
  const auto now = os::now();
  co_await os::pause(context_.event, until > now ? until - now : 0);
  for (auto again = kCleanUpPauseUs;; again = std::min(again * 2, kCleanUpPauseMaxUs)) {
    const auto task = context_.store->tasks().get(id);
    if (task && task->sequence != sequence) co_return;  // something else happened meanwhile
    std::expected<std::string, Error> taken = std::unexpected(task ? Error{} : task.error());
    if (task) taken = submit(id, model::Retried{});
    if (taken || taken.error().code == ErrorCode::WrongState || taken.error().code == ErrorCode::UnknownObject)
      co_return;
    // Nobody else wakes it: a store that is held or has no room now is asked again.
    log::warning("task " + std::to_string(id) + " cannot go on now and is tried again: " + taken.error().message,
                 {{names::kFieldTask, std::to_string(id)}});
    co_await os::pause(context_.event, again);
  }
}

// Nothing of a step that failed runs on unattended, and no run of it stays without an end.
Async<Done> Scheduler::endFailed(const StepRun& run, const Error& why) {
  auto units = co_await context_.systemd->list(run.step.name + "*.service");
  std::expected<void, Error> ended;
  if (!units) ended = std::unexpected(units.error());
  if (units)
    for (const auto& unit : *units)
      if (auto gone = co_await context_.systemd->remove(unit); !gone) ended = gone;
  if (!ended) {
    log::error("what step " + run.step.name + " started may still run: " + ended.error().message,
               {{names::kFieldTask, std::to_string(run.task.id)}});
    co_return Done{};
  }
  const auto runs = context_.store->runs().ofTask(run.task.id);
  if (!runs) co_return Done{};
  for (const auto& each : *runs) {
    if (each.start.step != run.step.name || each.end.ended != 0) continue;
    store::RunEnd end;
    end.run = each.id;
    end.ended = os::now();
    end.result = "stopped";
    end.text = why.message;
    if (auto noted = context_.store->runs().end(end); !noted) log::warning(noted.error().message);
  }
  co_return Done{};
}

// Whether PID 1 has units of the step already, from before the daemon was started: they run, whatever there is room
// for.
Async<bool> Scheduler::begun(std::string step) {
  const auto units = co_await context_.systemd->list(step + "*.service");
  co_return units && !units->empty();
}

Async<std::expected<StepOutcome, Error>> Scheduler::performStep(StepRun& run) {
  switch (run.step.kind) {
    case model::StepKind::Snapshot:
      co_return co_await performSnapshot(run);
    case model::StepKind::Restore:
      co_return co_await performRestore(run);
    case model::StepKind::Turn:
      co_return co_await performTurn(run);
    case model::StepKind::Import:
      co_return co_await performImport(run);
    case model::StepKind::Gate:
      co_return co_await performGate(run);
    case model::StepKind::Diff:
      co_return co_await performDiff(run);
    case model::StepKind::Land:
      co_return co_await performLand(run);
    case model::StepKind::CleanUp:
    case model::StepKind::Erase:
      co_return co_await performCleanUp(run);
  }
  co_return std::unexpected(Error{ErrorCode::Internal, "an unknown kind of step"});
}

Async<Done> Scheduler::close(std::uint64_t id, Session& session, bool keepImages) {
  if (auto closed = co_await session.close(keepImages); !closed)
    log::warning("what a step of task " + std::to_string(id) + " held: " + closed.error().message,
                 {{names::kFieldTask, std::to_string(id)}});
  co_return Done{};
}

// Takes away the images that an earlier step left mounted for this one.
void Scheduler::letGo(std::uint64_t id) {
  if (auto gone = unmountImages(context_, id); !gone)
    log::warning("the images of task " + std::to_string(id) + " stay mounted: " + gone.error().message,
                 {{names::kFieldTask, std::to_string(id)}});
}

Detached Scheduler::perform(std::uint64_t id) {
  if (performing_.contains(id)) co_return;
  performing_.emplace(id, Performing{});
  // The caller's stack unwinds first: a step never runs inside the transaction's call that opened it.
  co_await os::pause(context_.event, 0);
  bool first = true;
  bool slotted = false;
  bool imagesKept = false;
  while (true) {
    auto task = context_.store->tasks().get(id);
    // A decision may have come while it was let go, and what follows now does not take up what was kept.
    const bool goesOn = task && task->step && usesImages(task->step->kind);
    if (imagesKept && !goesOn) {
      letGo(id);
      imagesKept = false;
    }
    if (slotted && !goesOn) {
      admission_.leave(id);
      slotted = false;
    }
    if (!task || !task->step) break;
    StepRun run;
    run.context = &context_;
    run.settings = settings_;
    run.step = *task->step;
    run.task = std::move(*task);
    performing_[id] = {run.step.name, false};
    run.overtaken = [this, id] {
      const auto found = performing_.find(id);
      return found == performing_.end() || found->second.stopping;
    };
    auto project = context_.store->projects().get(run.task.project);
    if (project) run.project = std::move(*project);

    // What a step held when the daemon died is in the way of the next one.
    if (first) co_await tidyOthers(context_, id, run.step.name);
    const bool sandboxed = takesSlot(run.step.kind);
    const bool running = first && sandboxed && co_await begun(run.step.name);
    first = false;
    if (sandboxed && !slotted) {
      slotted = co_await admission_.enter(id, run.task.owner, running);
      if (!slotted) {
        co_await os::pause(context_.event, 0);
        continue;
      }
    }
    // A decision may have come while it waited.
    const auto current = context_.store->tasks().get(id);
    if (!current || !current->step || current->step->name != run.step.name) continue;
    if (cleansUp(run.step.kind) && run.step.attempt > 1) {
      const auto doublings = std::min<std::uint64_t>(run.step.attempt - 2, 10);
      co_await os::pause(context_.event, std::min(kCleanUpPauseUs << doublings, kCleanUpPauseMaxUs));
    }
    // What runs already is not held up: it was proven when it was started. Workers stand on the same as agents do.
    std::expected<void, Error> sealed;
    const auto accepted = settings_.configuration->current().acceptMissing;
    if (sandboxed && !running)
      sealed = co_await canary_.prove(accepted);
    else if (!running && !cleansUp(run.step.kind))
      sealed = co_await needsMet(context_, accepted);
    if (run.overtaken()) continue;
    std::expected<StepOutcome, Error> outcome = std::unexpected(Error{});
    if (!sealed)
      outcome = std::unexpected(sealed.error());
    else if (!project && !cleansUp(run.step.kind))
      outcome = std::unexpected(project.error());
    else
      outcome = co_await performStep(run);
    os::haltAt("done", run.step.name);

    const bool overtaken = performing_[id].stopping;
    std::expected<std::string, Error> taken;
    if (outcome) {
      taken = submit(id, outcome->fact, std::move(outcome->texts), std::move(outcome->findings));
    } else if (!overtaken) {
      log::warning("step " + run.step.name + ": " + outcome.error().message, {{names::kFieldTask, std::to_string(id)}});
      taken = submit(id, model::StepFailed{run.step.name, outcome.error()});
    }
    os::haltAt("stored", run.step.name);
    // Not before that: where it could not be stored the step is done again, from what ran.
    if (!outcome && sandboxed && taken) co_await endFailed(run, outcome.error());
    // Images stay mounted from one step to the next only while their task holds a slot, and it holds one for what
    // follows at once unless somebody else waits for it.
    if (slotted && admission_.contended()) {
      if (imagesKept && !(outcome && outcome->session)) {
        letGo(id);
        imagesKept = false;
      }
      admission_.leave(id);
      slotted = false;
    }
    if (outcome && outcome->session) {
      const auto next = context_.store->tasks().get(id);
      const bool keep = slotted && next && next->step && usesImages(next->step->kind);
      co_await close(id, *outcome->session, keep);
      imagesKept = keep;
    }
    if (!taken && !overtaken) {
      // The fact could not be stored (a full disk, say). Everything it says is found again when the step is done again.
      log::error("step " + run.step.name + " is done but cannot be recorded: " + taken.error().message,
                 {{names::kFieldTask, std::to_string(id)}});
      co_await os::pause(context_.event, kCleanUpPauseUs * 5);
    }
  }
  performing_.erase(id);
}

}  // namespace coffer::engine
