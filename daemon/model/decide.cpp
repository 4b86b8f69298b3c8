#include "model/decide.hpp"

#include "model/rules.hpp"

namespace coffer::model {

namespace {

template <typename... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};

}  // namespace

std::expected<Decision, Error> decide(const Task& task, const Fact& fact, std::uint64_t at) {
  if (task.id == 0 && !std::holds_alternative<Created>(fact))
    return std::unexpected(Error{ErrorCode::WrongState, "There is no task yet that this could happen to."});
  return std::visit(Overloaded{
                        [&](const Created& it) { return onCreated(task, it, at); },
                        [&](const PlanAccepted& it) { return onPlanAccepted(task, it, at); },
                        [&](const WorkAccepted& it) { return onWorkAccepted(task, it, at); },
                        [&](const Replied& it) { return onReplied(task, it, at); },
                        [&](const Retried& it) { return onRetried(task, it, at); },
                        [&](const Paused&) { return onPaused(task, at); },
                        [&](const Resumed&) { return onResumed(task, at); },
                        [&](const Cancelled&) { return onCancelled(task, at); },
                        [&](const Deleted&) { return onDeleted(task, at); },
                        [&](const SnapshotTaken& it) { return onSnapshotTaken(task, it, at); },
                        [&](const Restored& it) { return onRestored(task, it, at); },
                        [&](const TurnEnded& it) { return onTurnEnded(task, it, at); },
                        [&](const Imported& it) { return onImported(task, it, at); },
                        [&](const ImportRefused& it) { return onImportRefused(task, it, at); },
                        [&](const GateEnded& it) { return onGateEnded(task, it, at); },
                        [&](const DiffReady& it) { return onDiffReady(task, it, at); },
                        [&](const Landed& it) { return onLanded(task, it, at); },
                        [&](const CandidateMoved& it) { return onCandidateMoved(task, it, at); },
                        [&](const StepFailed& it) { return onStepFailed(task, it, at); },
                        [&](const StepInterrupted& it) { return onStepInterrupted(task, it, at); },
                        [&](const CleanedUp& it) { return onCleanedUp(task, it, at); },
                        [&](const GivenUp& it) { return onGivenUp(task, it, at); },
                    },
                    fact);
}

}  // namespace coffer::model
