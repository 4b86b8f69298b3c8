#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "model/parked.hpp"
#include "model/policy.hpp"
#include "model/retry_point.hpp"
#include "model/state.hpp"
#include "model/step.hpp"
#include "model/turn.hpp"

/// The one place where enums have words: events, store, bus and command line all use these. A word never changes its
/// meaning.
namespace coffer::model {

template <typename Enum>
struct Spelling;

template <>
struct Spelling<State> {
  static constexpr auto words = std::to_array<std::pair<State, std::string_view>>({
      {State::Queued, "queued"},
      {State::Planning, "planning"},
      {State::PlanReady, "plan-ready"},
      {State::Writing, "writing"},
      {State::Verifying, "verifying"},
      {State::Reviewing, "reviewing"},
      {State::Ready, "ready"},
      {State::Landing, "landing"},
      {State::Landed, "landed"},
      {State::Pushing, "pushing"},
      {State::Done, "done"},
      {State::Failed, "failed"},
      {State::Cancelled, "cancelled"},
  });
};

template <>
struct Spelling<Parked> {
  static constexpr auto words = std::to_array<std::pair<Parked, std::string_view>>({
      {Parked::No, ""},
      {Parked::Question, "question"},
      {Parked::Risky, "risky"},
      {Parked::Command, "command"},
      {Parked::Blocked, "blocked"},
      {Parked::Quota, "quota"},
      {Parked::Retry, "retry"},
      {Parked::AgentPaused, "agent-paused"},
      {Parked::Budget, "budget"},
      {Parked::Paused, "paused"},
  });
};

template <>
struct Spelling<Role> {
  static constexpr auto words = std::to_array<std::pair<Role, std::string_view>>(
      {{Role::Planner, "planner"}, {Role::Writer, "writer"}, {Role::Reviewer, "reviewer"}});
};

template <>
struct Spelling<TurnKind> {
  static constexpr auto words = std::to_array<std::pair<TurnKind, std::string_view>>({
      {TurnKind::Plan, "plan"},
      {TurnKind::PlanRepair, "plan-repair"},
      {TurnKind::Write, "write"},
      {TurnKind::NoChange, "no-change"},
      {TurnKind::FixGate, "fix-gate"},
      {TurnKind::FixReview, "fix-review"},
      {TurnKind::SelfReview, "self-review"},
      {TurnKind::Review, "review"},
      {TurnKind::ReviewRepair, "review-repair"},
      {TurnKind::Reply, "reply"},
  });
};

template <>
struct Spelling<TurnOutcome> {
  static constexpr auto words = std::to_array<std::pair<TurnOutcome, std::string_view>>({
      {TurnOutcome::Ok, "ok"},
      {TurnOutcome::Failed, "failed"},
      {TurnOutcome::TimedOut, "timed-out"},
      {TurnOutcome::Killed, "killed"},
      {TurnOutcome::OomKilled, "out-of-memory"},
      {TurnOutcome::OutputLimit, "output-limit"},
      {TurnOutcome::DiskFull, "disk-full"},
      {TurnOutcome::Interrupted, "interrupted"},
      {TurnOutcome::RateLimited, "rate-limited"},
      {TurnOutcome::Unreachable, "unreachable"},
      {TurnOutcome::AuthFailed, "auth-failed"},
      {TurnOutcome::OverBudget, "over-budget"},
  });
};

template <>
struct Spelling<StepKind> {
  static constexpr auto words = std::to_array<std::pair<StepKind, std::string_view>>({
      {StepKind::Snapshot, "snapshot"},
      {StepKind::Restore, "restore"},
      {StepKind::Turn, "turn"},
      {StepKind::Import, "import"},
      {StepKind::Gate, "gate"},
      {StepKind::Diff, "diff"},
      {StepKind::Land, "land"},
      {StepKind::CleanUp, "cleanup"},
      {StepKind::Erase, "erase"},
  });
};

template <>
struct Spelling<Decides> {
  static constexpr auto words = std::to_array<std::pair<Decides, std::string_view>>(
      {{Decides::Ask, "ask"}, {Decides::Auto, "auto"}, {Decides::Branch, "branch"}});
};

template <>
struct Spelling<RetryPoint> {
  static constexpr auto words = std::to_array<std::pair<RetryPoint, std::string_view>>({
      {RetryPoint::Stopped, ""},
      {RetryPoint::Plan, "plan"},
      {RetryPoint::Write, "write"},
      {RetryPoint::Gate, "gate"},
      {RetryPoint::Review, "review"},
  });
};

/// The word of an enum's value.
template <typename Enum>
constexpr std::string_view spell(Enum value) {
  for (const auto& [known, word] : Spelling<Enum>::words)
    if (known == value) return word;
  return "?";
}

/// The value of a word: parse<State>("ready"); nothing for a word that is not ours.
template <typename Enum>
constexpr std::optional<Enum> parse(std::string_view word) {
  for (const auto& [value, known] : Spelling<Enum>::words)
    if (known == word) return value;
  return std::nullopt;
}

}  // namespace coffer::model
