#pragma once

#include <cstdint>
#include <expected>

#include "model/decide.hpp"

namespace coffer::model {

using Answer = std::expected<Decision, Error>;

// What each fact does; see decide().

Answer onCreated(const Task& task, const Created& fact, std::uint64_t at);
Answer onPlanAccepted(const Task& task, const PlanAccepted& fact, std::uint64_t at);
Answer onWorkAccepted(const Task& task, const WorkAccepted& fact, std::uint64_t at);
Answer onReplied(const Task& task, const Replied& fact, std::uint64_t at);
Answer onRetried(const Task& task, const Retried& fact, std::uint64_t at);
Answer onPaused(const Task& task, std::uint64_t at);
Answer onResumed(const Task& task, std::uint64_t at);
Answer onCancelled(const Task& task, std::uint64_t at);
Answer onDeleted(const Task& task, std::uint64_t at);

Answer onSnapshotTaken(const Task& task, const SnapshotTaken& fact, std::uint64_t at);
Answer onRestored(const Task& task, const Restored& fact, std::uint64_t at);
Answer onTurnEnded(const Task& task, const TurnEnded& fact, std::uint64_t at);
Answer onImported(const Task& task, const Imported& fact, std::uint64_t at);
Answer onImportRefused(const Task& task, const ImportRefused& fact, std::uint64_t at);
Answer onGateEnded(const Task& task, const GateEnded& fact, std::uint64_t at);
Answer onDiffReady(const Task& task, const DiffReady& fact, std::uint64_t at);
Answer onLanded(const Task& task, const Landed& fact, std::uint64_t at);
Answer onCandidateMoved(const Task& task, const CandidateMoved& fact, std::uint64_t at);
Answer onStepFailed(const Task& task, const StepFailed& fact, std::uint64_t at);
Answer onStepInterrupted(const Task& task, const StepInterrupted& fact, std::uint64_t at);
Answer onCleanedUp(const Task& task, const CleanedUp& fact, std::uint64_t at);
Answer onGivenUp(const Task& task, const GivenUp& fact, std::uint64_t at);

/// The refusal for a fact about a step that is not the open one or not of that kind; nothing when it is.
std::optional<Error> notOpen(const Task& task, const std::string& step, StepKind kind);

/// What the state allows; decide() and actions() both ask these.
bool canAcceptPlan(const Task& task);
bool canAcceptWork(const Task& task);
bool canReply(const Task& task);
bool canRetry(const Task& task);
/// From a point that is named: also where nothing is wrong and the person only wants something done again.
bool canRetryFrom(const Task& task, RetryPoint from);
bool canPause(const Task& task);
bool canResume(const Task& task);
bool canCancel(const Task& task);
bool canDelete(const Task& task);

}  // namespace coffer::model
