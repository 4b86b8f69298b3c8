#include "engine/agent_trial.hpp"

#include <utility>

#include "engine/session.hpp"
#include "engine/sweep.hpp"
#include "engine/task_images.hpp"
#include "model/limits.hpp"
#include "model/spelling.hpp"
#include "os/log.hpp"

namespace coffer::engine {
namespace {

constexpr auto kFirst =
    "Turn: test\n\nRemember the word cobalt. Read nothing, change nothing, and answer with one word: ready.\n";
constexpr auto kSecond = "Turn: test\n\nWhich word were you to remember? Answer with that one word.\n";

constexpr auto kPlanner = "A";

StepRun turnOf(const StepRun& trial, std::uint64_t attempt, const char* prompt) {
  StepRun run = trial;
  run.trial = StepRun::Trial{.prompt = prompt, .minutes = limits::kAgentTestMinutes};
  run.step.kind = model::StepKind::Turn;
  run.step.role = model::Role::Planner;
  run.step.turn = model::TurnKind::Plan;
  run.step.conversation = kPlanner;
  run.step.attempt = attempt;
  run.step.name = model::stepName(run.task.id, 0, "planner", attempt);
  return run;
}

Async<std::expected<StepOutcome, Error>> perform(StepRun& run) {
  auto outcome = co_await performTurn(run);
  if (!outcome) co_return outcome;
  if (outcome->session) {
    if (auto closed = co_await outcome->session->close(); !closed) co_return std::unexpected(closed.error());
  }
  co_return outcome;
}

Async<std::expected<api::AgentTestView, Error>> turns(StepRun& trial) {
  api::AgentTestView view;
  StepRun first = turnOf(trial, 1, kFirst);
  auto begun = co_await perform(first);
  if (!begun) co_return std::unexpected(begun.error());
  const auto& told = std::get<model::TurnEnded>(begun->fact);
  view.outcome = model::spell(told.outcome);
  view.problem = told.words;
  view.answered = told.outcome == model::TurnOutcome::Ok;
  view.answer = begun->text;
  view.session = told.session;
  model::Usage usage = told.usage;
  if (view.answered && !told.session.empty()) {
    StepRun second = turnOf(trial, 2, kSecond);
    second.task.conversations[kPlanner] = {told.session, 1};
    auto resumed = co_await perform(second);
    if (!resumed) co_return std::unexpected(resumed.error());
    const auto& again = std::get<model::TurnEnded>(resumed->fact);
    view.resumed = again.outcome == model::TurnOutcome::Ok && (again.session.empty() || again.session == told.session);
    view.resumedAnswer = resumed->text;
    if (again.outcome != model::TurnOutcome::Ok) {
      view.outcome = model::spell(again.outcome);
      view.problem = "the first turn could not be continued: " + again.words;
    }
    usage += again.usage;
  }
  view.input = static_cast<std::uint64_t>(usage.input);
  view.cached = static_cast<std::uint64_t>(usage.cached);
  view.output = static_cast<std::uint64_t>(usage.output);
  view.requests = static_cast<std::uint64_t>(usage.requests);
  co_return view;
}

}  // namespace

Async<std::expected<api::AgentTestView, Error>> tryAgent(Context& context, Admission& admission, Settings settings,
                                                         std::uint32_t owner, std::string binding) {
  // A number of a task that is never made: everything of it has a name that belongs to nobody else, and after a crash
  // it is swept away like what is left of any other.
  auto id = context.store->tasks().newId();
  if (!id) co_return std::unexpected(id.error());
  StepRun trial;
  trial.context = &context;
  trial.settings = settings;
  trial.task.id = *id;
  trial.task.owner = owner;
  trial.task.flow = {.name = "trial", .planner = kPlanner, .writer = kPlanner};
  trial.task.agents[model::Role::Planner] = std::move(binding);

  std::expected<api::AgentTestView, Error> result = std::unexpected(Error{});
  const auto& sizes = settings.configuration->current();
  if (auto images = co_await makeImages(context, *id, owner, sizes.taskImageMib << 20U, sizes.outputImageMib << 20U);
      !images)
    result = std::unexpected(images.error());
  else if (const auto why = admission.enterNow(*id, owner))
    result = std::unexpected(refusedNow(*why));
  else
    result = co_await turns(trial);
  StepRun end = trial;
  end.step.kind = model::StepKind::CleanUp;
  end.step.name = model::stepName(*id, 0, "cleanup", 1);
  if (auto cleaned = co_await performCleanUp(end); !cleaned)
    log::warning("what is left of a test of an agent is taken away at the next start: " + cleaned.error().message);
  else
    removeTaskDirectory(context, *id);
  admission.leave(*id);
  co_return result;
}

}  // namespace coffer::engine
