#include <algorithm>
#include <random>

#include "model/limits.hpp"
#include "play.hpp"

namespace coffer::model {
namespace {

/// Throws facts at a task, mostly possible ones, and looks at what must hold after each.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : random_(seed) {}

  std::uint64_t below(std::uint64_t limit) {
    return std::uniform_int_distribution<std::uint64_t>(0, limit - 1)(random_);
  }
  bool oneIn(std::uint64_t many) { return below(many) == 0; }
  std::string digest() { return sha256(std::to_string(below(1000))); }

  std::string stepOf(const Task& task) {
    if (task.step && !oneIn(20)) return task.step->name;
    if (task.stopping && oneIn(2)) return task.stopping->name;
    return "coffer-17-" + std::to_string(below(4)) + "-writer-" + std::to_string(1 + below(3));
  }

  Fact fromPerson(const Task& task) {
    switch (below(16)) {
      case 0:
      case 1:
      case 2:
        return PlanAccepted{oneIn(4) ? digest() : task.plan};
      case 3:
      case 4:
        return WorkAccepted{.digest = oneIn(4) ? digest() : task.workDigest, .branch = oneIn(4) ? "b" : ""};
      case 5:
      case 6:
      case 7:
        return Replied{oneIn(10) ? "" : digest()};
      case 8:
      case 9:
      case 10:
        return Retried{oneIn(2) ? RetryPoint::Stopped : static_cast<RetryPoint>(below(5))};
      case 11:
        return Paused{};
      case 12:
      case 13:
        return Resumed{};
      case 14:
        return oneIn(8) ? Fact{Cancelled{}} : Fact{Retried{}};
      default:
        return oneIn(4) ? Fact{Deleted{}} : Fact{Created{.id = 1, .prompt = digest(), .flow = *builtInFlow("single")}};
    }
  }

  Fact turnEnd(const Task& task) {
    TurnEnded end{.step = stepOf(task), .run = ++run_, .usage = {.input = static_cast<std::int64_t>(below(100))}};
    if (oneIn(6)) end.outcome = static_cast<TurnOutcome>(below(11));
    if (oneIn(12)) end.question = digest();
    if (oneIn(4)) end.answer = digest();
    if (!oneIn(8)) end.plan = {.digest = digest(), .summary = "s", .refusal = oneIn(6) ? "no" : ""};
    if (!oneIn(8))
      end.review = {
          .digest = digest(), .refusal = oneIn(6) ? "no" : "", .blocking = static_cast<std::int64_t>(below(2))};
    return end;
  }

  Fact fromWorld(const Task& task) {
    const std::string step = stepOf(task);
    if (oneIn(25)) return StepFailed{step, {ErrorCode::NoSpace, "The disk is full"}};
    if (oneIn(25)) return StepInterrupted{step};
    if (oneIn(400)) return GivenUp{{ErrorCode::NoRepository, "gone"}};
    const std::string candidate = oneIn(15) ? "other" : task.candidate;
    const std::string tree = "t" + std::to_string(below(4));
    switch (oneIn(15) ? static_cast<StepKind>(below(9)) : task.step ? task.step->kind : StepKind::Turn) {
      case StepKind::Snapshot:
        return SnapshotTaken{.step = step, .base = "b", .branch = "m"};
      case StepKind::Restore:
        return Restored{step};
      case StepKind::Turn:
        return turnEnd(task);
      case StepKind::Import:
        if (oneIn(8)) return ImportRefused{step, {ErrorCode::InvalidArgument, "a .git"}, digest()};
        return Imported{.step = step,
                        .writerCommit = "w",
                        .base = task.bases.empty() ? "" : task.bases.back(),
                        .candidate = "c" + tree,
                        .tree = tree,
                        .nothing = oneIn(8)};
      case StepKind::Gate:
        return GateEnded{.step = step,
                         .run = ++run_,
                         .candidate = candidate,
                         .green = oneIn(2),
                         .environment = oneIn(5),
                         .feedback = digest()};
      case StepKind::Diff:
        return DiffReady{.step = step, .candidate = candidate, .diff = digest(), .risky = oneIn(4) ? 1 : 0};
      case StepKind::Land:
        if (oneIn(3)) return CandidateMoved{step, "b" + tree, "cx" + tree, "x" + tree};
        if (oneIn(6)) return StepFailed{step, {ErrorCode::Stale, "a.c conflicts"}, "b" + tree, digest()};
        return coffer::model::Landed{.step = step, .commit = candidate, .branch = "m", .where = "/d"};
      default:
        return CleanedUp{step};
    }
  }

  Fact fact(const Task& task) { return oneIn(task.step ? 12 : 2) ? fromPerson(task) : fromWorld(task); }

 private:
  std::mt19937_64 random_;
  std::uint64_t run_ = 0;
};

void holds(const Task& before, const Fact& fact, const Decision& decision, const Task& task) {
  EXPECT_LE(task.round, task.rounds);
  std::size_t opened = 0;
  for (const auto& event : decision.events)
    if (event.type == "step-opened") ++opened;
  EXPECT_LE(opened, 1U);
  EXPECT_EQ(opened == 1, decision.step.has_value());
  if (decision.step) {
    EXPECT_EQ(decision.step, task.step);
  }
  if (decision.already) {
    EXPECT_TRUE(decision.events.empty());
  }
  const auto* again = std::get_if<Retried>(&fact);
  if (ended(before.state)) {
    EXPECT_TRUE(task.state == before.state || (again && before.state != State::Done && before.cleaned));
  }
  if (!before.landed.empty()) {
    EXPECT_EQ(before.landed, task.landed);
  }
  // Nobody is forgotten: what has not ended runs, waits for a decision, or says why it stands still.
  if (!ended(task.state)) {
    EXPECT_TRUE(task.step || task.parked.reason != Parked::No || !pending(task).empty()) << spell(task.state);
  }
  if (task.step) {
    EXPECT_EQ(task.parked.reason, Parked::No);
  }
  // Only what was shown is accepted.
  if (again && again->from == RetryPoint::Plan && task.planAccepted.empty()) {
    EXPECT_TRUE(task.plan.empty());
  } else if (task.planAccepted != before.planAccepted && before.policy.plan == Decides::Ask) {
    ASSERT_TRUE(std::holds_alternative<PlanAccepted>(fact));
    EXPECT_EQ(std::get<PlanAccepted>(fact).digest, before.plan);
  }
  if (task.step && task.step->kind == StepKind::Land) {
    EXPECT_EQ(task.step->candidate, task.candidate);
    EXPECT_TRUE(task.gate.green);
    EXPECT_EQ(task.gate.candidate, task.candidate);
    EXPECT_EQ(task.step->base, task.base);
    EXPECT_GT(std::ranges::count(task.bases, task.base), 0);
    const bool risky = std::holds_alternative<DiffReady>(fact) && std::get<DiffReady>(fact).risky > 0;
    EXPECT_FALSE(risky && before.policy.risky == Decides::Ask) << "nobody was asked";
    if (before.state != State::Landing && before.policy.landing == Decides::Ask) {
      ASSERT_TRUE(std::holds_alternative<WorkAccepted>(fact));
      EXPECT_EQ(std::get<WorkAccepted>(fact).digest, before.workDigest);
    }
  }
  // A review judges only what was green.
  if (task.step && task.step->kind == StepKind::Turn && task.step->role == Role::Reviewer) {
    EXPECT_EQ(task.gate.candidate, task.candidate);
    EXPECT_TRUE(task.gate.green);
    EXPECT_EQ(task.step->candidate, task.candidate);
  }
  const auto names = actions(task);
  EXPECT_EQ(std::ranges::count(names, "accept-work") == 1,
            decide(task, WorkAccepted{.digest = task.workDigest}, 1).has_value() && task.workAccepted.empty());
  EXPECT_EQ(std::ranges::count(names, "reply") == 1, decide(task, Replied{"x"}, 1).has_value());
  EXPECT_EQ(std::ranges::count(names, "retry") == 1, decide(task, Retried{}, 1).has_value());
}

TEST(Random, AnySequenceOfFactsKeepsTheRules) {
  constexpr std::size_t kSteps = 100'000;
  std::map<State, std::size_t> reached;
  std::size_t done = 0;
  std::size_t refused = 0;
  for (std::uint64_t seed = 1; done < kSteps && !::testing::Test::HasFailure(); ++seed) {
    Dice dice(seed);
    Policy policy;
    if (dice.oneIn(4)) policy.plan = Decides::Auto;
    if (dice.oneIn(4)) policy.landing = Decides::Auto;
    if (dice.oneIn(4)) policy.risky = Decides::Auto;
    Play play(builtInFlows()[dice.below(4)].name, policy, dice.below(5));
    std::map<std::string, int> names{{play.step(), 1}};
    for (int i = 0; i < 400 && !(play.task.deleted && !play.task.step); ++i, ++done) {
      const Fact fact = dice.fact(play.task);
      const Task before = play.task;
      const auto decision = decide(play.task, fact, 5000 + done);
      if (!decision) {
        EXPECT_GT(decision.error().message.size(), 20U);
        ++refused;
        continue;
      }
      play.take(*decision);
      if (decision->step) {
        EXPECT_EQ(++names[decision->step->name], 1) << decision->step->name;
      }
      holds(before, fact, *decision, play.task);
      ++reached[play.task.state];
    }
    Task replayed;
    for (const auto& event : play.events)
      apply(replayed, event);
    EXPECT_EQ(replayed, play.task) << "seed " << seed;
  }
  for (const State state : {State::Planning, State::PlanReady, State::Writing, State::Verifying, State::Reviewing,
                            State::Ready, State::Landing, State::Landed, State::Done, State::Failed, State::Cancelled})
    EXPECT_GT(reached[state], 20U) << spell(state);
  EXPECT_GT(refused, 100U);
}

}  // namespace
}  // namespace coffer::model
