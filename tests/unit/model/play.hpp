#pragma once

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "model/actions.hpp"
#include "model/decide.hpp"
#include "model/digest.hpp"
#include "model/spelling.hpp"

namespace coffer::model {

/// Plays a task through facts, as engine and people would tell them, and keeps all its events.
class Play {
 public:
  explicit Play(std::string_view flow = "review", Policy policy = {}, std::uint64_t rounds = 3) {
    tell(Created{.id = 17,
                 .project = 3,
                 .owner = 1000,
                 .title = "zlib: say so",
                 .prompt = sha256("prompt"),
                 .flow = *builtInFlow(flow),
                 .policy = policy,
                 .agents = {{Role::Planner, "codex/m"}, {Role::Writer, "claude/n"}},
                 .rounds = rounds});
  }

  Task task;
  std::vector<Event> events;

  /// The fact has to be possible.
  Decision tell(const Fact& fact) {
    auto decision = decide(task, fact, ++clock_);
    if (!decision) {
      ADD_FAILURE() << decision.error().message << " (" << where() << ")";
      return {};
    }
    take(*decision);
    return *decision;
  }

  /// The fact has to be refused like this, with a sentence, and nothing may have changed.
  void refuse(const Fact& fact, ErrorCode code) {
    const auto decision = decide(task, fact, clock_ + 1);
    ASSERT_FALSE(decision.has_value()) << where();
    EXPECT_EQ(errorName(decision.error().code), errorName(code)) << decision.error().message;
    EXPECT_GT(decision.error().message.size(), 20U);
  }

  void take(const Decision& decision) {
    for (Event event : decision.events) {
      event.sequence = events.size() + 1;
      apply(task, event);
      events.push_back(std::move(event));
    }
  }

  [[nodiscard]] std::string step() const { return task.step ? task.step->name : "none"; }

  /// "B fix-gate", "gate", "none"
  [[nodiscard]] std::string open() const {
    if (!task.step) return "none";
    if (task.step->kind != StepKind::Turn) return std::string(spell(task.step->kind));
    return task.step->conversation + " " + std::string(spell(task.step->turn));
  }

  [[nodiscard]] std::string where() const {
    std::string text(spell(task.state));
    if (task.parked.reason != Parked::No) text += "/" + std::string(spell(task.parked.reason)) + ":" + task.parked.code;
    return text + "/" + open();
  }

  [[nodiscard]] std::size_t count(std::string_view type) const {
    std::size_t found = 0;
    for (const auto& event : events)
      if (event.type == type) ++found;
    return found;
  }

  // The usual facts, about the step that is open.

  void snapshot() { tell(SnapshotTaken{.step = step(), .base = "b0", .branch = "master"}); }
  void plan(const std::string& text = "plan") {
    tell(TurnEnded{.step = step(),
                   .run = ++run_,
                   .session = "s-planner",
                   .usage = {.input = 10, .output = 1},
                   .plan = {.digest = sha256(text), .summary = "Say so"}});
  }
  void acceptPlan() { tell(PlanAccepted{task.plan}); }
  void turn() {
    tell(TurnEnded{.step = step(), .run = ++run_, .session = "s-writer", .usage = {.input = 10, .output = 1}});
  }
  void turn(TurnOutcome outcome, std::uint64_t until = 0) {
    tell(TurnEnded{
        .step = step(), .run = ++run_, .outcome = outcome, .words = "why", .until = until, .usage = {.input = 10}});
  }
  void ask() {
    tell(TurnEnded{.step = step(), .run = ++run_, .question = sha256("question"), .plan = {.digest = sha256("p")}});
  }
  void import(const std::string& tree) {
    tell(Imported{.step = step(),
                  .writerCommit = "w" + tree,
                  .base = task.bases.back(),
                  .candidate = "c" + tree,
                  .tree = tree,
                  .subjects = "Work",
                  .changed = 2});
  }
  void gate(bool green, bool environment = false) {
    tell(GateEnded{.step = step(),
                   .run = ++run_,
                   .candidate = task.candidate,
                   .green = green,
                   .environment = environment,
                   .causes = "does not build",
                   .feedback = sha256("feedback")});
  }
  void review(std::int64_t blocking) {
    tell(TurnEnded{.step = step(),
                   .run = ++run_,
                   .usage = {.input = 10},
                   .review = {.digest = sha256("review"), .blocking = blocking, .findings = blocking + 1}});
  }
  void unreadable() {
    tell(TurnEnded{.step = step(),
                   .run = ++run_,
                   .review = {.digest = sha256("r"), .refusal = "no JSON"},
                   .problem = sha256("no")});
  }
  void diff() {
    tell(DiffReady{.step = step(), .candidate = task.candidate, .diff = sha256("diff " + task.candidate)});
  }
  void acceptWork() { tell(WorkAccepted{.digest = task.workDigest}); }
  void reply() { tell(Replied{sha256("reply")}); }
  void land() {
    tell(coffer::model::Landed{.step = step(), .commit = task.candidate, .branch = "master", .where = "/home/a/zlib"});
  }
  void cleanUp() { tell(CleanedUp{step()}); }

  /// Writer's turn up to the gate, with the self-review where the flow has one.
  void write(const std::string& tree) {
    turn();
    if (task.flow.selfReview) turn();
    import(tree);
  }
  void toPlanReady() { snapshot(), plan(); }
  void toWriting() { toPlanReady(), acceptPlan(); }
  void toGate() { toWriting(), write("t1"); }
  void toReview() { toGate(), gate(true); }
  void toReady() {
    toGate();
    gate(true);
    if (task.flow.hasReview()) review(0);
    diff();
  }

 private:
  std::uint64_t clock_ = 1000;
  std::uint64_t run_ = 0;
};

}  // namespace coffer::model
