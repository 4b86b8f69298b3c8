#include <algorithm>
#include <utility>

#include "model/limits.hpp"
#include "model/rules.hpp"
#include "model/ruling.hpp"
#include "model/work_digest.hpp"

namespace coffer::model {

namespace {

std::unexpected<Error> refuse(Error error) { return std::unexpected(std::move(error)); }

std::string counted(std::int64_t count, std::string_view one, std::string_view many) {
  return std::to_string(count) + " " + std::string(count == 1 ? one : many);
}

/// The target moved, so the candidate is another commit with the same content: the gate runs again, the review need
/// not.
void afterGreen(Ruling& ruling) {
  const Task& task = ruling.task();
  if (task.flow.hasReview() && !task.reviewKept)
    ruling.openReview();
  else
    ruling.openDiff();
}

void blockedWhenOutOfRounds(Ruling& ruling, const std::string& what) {
  const Task& task = ruling.task();
  ruling.park(Parked::Blocked, "rounds-exhausted",
              what + " after " + counted(static_cast<std::int64_t>(task.round), "fix round", "fix rounds") +
                  ". Reply to give the writer another start, or retry to verify again.");
}

void noChange(Ruling& ruling) {
  const bool told = ruling.task().noChangeTold;
  ruling.tell("no-change", {{"again", told ? 1 : 0}});
  // A writer that answers the person in words and changes nothing has done what it could.
  const bool answered = ruling.task().cause == TurnKind::Reply && !ruling.task().answer.empty();
  if (!told && !answered)
    ruling.openTurn(Role::Writer, TurnKind::NoChange);
  else
    ruling.park(
        Parked::Blocked, "no-change",
        answered ? "The writer answered and changed nothing. Read its answer with `coffer show --answer`, then reply."
                 : "The writer changed nothing and asked nothing, twice. Reply with what is missing.");
}

std::string riskyText(const DiffReady& fact) {
  std::string names;
  std::string_view rest = fact.riskyPaths;
  while (!rest.empty()) {
    const auto end = rest.find('\n');
    names += (names.empty() ? "" : ", ") + std::string(rest.substr(0, end));
    rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
  }
  return counted(fact.risky, "changed path takes", "changed paths take") +
         " effect outside of a sandbox once it has landed, so a person decides: " + names +
         (std::ranges::count(fact.riskyPaths, '\n') < fact.risky ? ", and more." : ".");
}

}  // namespace

std::optional<Error> notOpen(const Task& task, const std::string& step, StepKind kind) {
  if (!task.step)
    return Error{ErrorCode::Stale,
                 "No step of " + nameOf(task) + " is open, so " + step + " has ended before. Nothing is to do."};
  if (task.step->name != step)
    return Error{ErrorCode::Stale, "The open step of " + nameOf(task) + " is " + task.step->name + ", not " + step +
                                       ", which has ended before. Nothing is to do."};
  if (task.step->kind != kind)
    return Error{ErrorCode::WrongState, "The step " + step + " of " + nameOf(task) + " is a " +
                                            std::string(spell(task.step->kind)) + " and cannot end like a " +
                                            std::string(spell(kind)) + ". This is a fault of the daemon."};
  return std::nullopt;
}

Answer onSnapshotTaken(const Task& task, const SnapshotTaken& fact, std::uint64_t at) {
  if (auto error = notOpen(task, fact.step, StepKind::Snapshot)) return refuse(*std::move(error));
  Ruling ruling(task, at);
  ruling.tell("snapshot-taken",
              {{"step", fact.step}, {"base", fact.base}, {"branch", fact.branch}, {"not-in", fact.notIn}});
  if (task.plan.empty())
    ruling.openTurn(Role::Planner, TurnKind::Plan);
  else
    ruling.planReady(task.plan, task.planSummary);
  return std::move(ruling).take();
}

Answer onRestored(const Task& task, const Restored& fact, std::uint64_t at) {
  if (auto error = notOpen(task, fact.step, StepKind::Restore)) return refuse(*std::move(error));
  Ruling ruling(task, at);
  ruling.tell("restored", {{"step", fact.step}});
  ruling.goOn();
  return std::move(ruling).take();
}

Answer onImported(const Task& task, const Imported& fact, std::uint64_t at) {
  if (auto error = notOpen(task, fact.step, StepKind::Import)) return refuse(*std::move(error));
  Ruling ruling(task, at);
  if (fact.nothing) {
    noChange(ruling);
    return std::move(ruling).take();
  }
  const bool same = !task.tree.empty() && fact.tree == task.tree && fact.base == task.base;
  const bool disagrees = same && task.cause == TurnKind::FixReview && !task.answer.empty() && task.gate.green;
  if (same && task.cause != TurnKind::Reply && !disagrees) {
    noChange(ruling);
    return std::move(ruling).take();
  }
  Payload payload{
      {"step", fact.step}, {"writer-commit", fact.writerCommit},   {"candidate", fact.candidate}, {"base", fact.base},
      {"tree", fact.tree}, {"subjects", shortened(fact.subjects)}, {"changed", fact.changed}};
  if (disagrees) payload["kept"] = 1;
  ruling.tell("imported", std::move(payload));
  // Same tree and same parent keep the gate; what the writer says to the findings goes to a reviewer.
  if (disagrees)
    afterGreen(ruling);
  else
    ruling.openGate();
  return std::move(ruling).take();
}

Answer onImportRefused(const Task& task, const ImportRefused& fact, std::uint64_t at) {
  if (auto error = notOpen(task, fact.step, StepKind::Import)) return refuse(*std::move(error));
  Ruling ruling(task, at);
  const std::string words = shortened(fact.error.message);
  ruling.tell("import-refused", {{"step", fact.step},
                                 {"code", std::string(errorName(fact.error.code))},
                                 {"words", words},
                                 {"feedback", fact.feedback}});
  if (!ruling.startRound(TurnKind::FixGate, words, {{"feedback", fact.feedback}}))
    blockedWhenOutOfRounds(ruling, "The commits still cannot be taken in");
  return std::move(ruling).take();
}

Answer onGateEnded(const Task& task, const GateEnded& fact, std::uint64_t at) {
  if (auto error = notOpen(task, fact.step, StepKind::Gate)) return refuse(*std::move(error));
  Ruling ruling(task, at);
  if (fact.candidate != task.candidate) {
    ruling.runAgain("verify-again", "What was built is not the candidate any more, so it is verified again.");
    return std::move(ruling).take();
  }
  const bool environment = fact.environment && !fact.green;
  ruling.tell("gate-ended", {{"step", fact.step},
                             {"run", static_cast<std::int64_t>(fact.run)},
                             {"candidate", fact.candidate},
                             {"verdict", fact.green    ? "green"
                                         : environment ? "environment"
                                                       : "red"},
                             {"causes", shortened(fact.causes)},
                             {"feedback", fact.feedback}});
  if (fact.green)
    afterGreen(ruling);
  else if (environment)
    ruling.park(Parked::Blocked, "environment",
                "The gate could not run as it should, and that is not the work's fault: " + fact.causes +
                    ". Retry when the cause is gone; no round was spent.");
  else if (!ruling.startRound(TurnKind::FixGate, fact.causes, {{"feedback", fact.feedback}}))
    blockedWhenOutOfRounds(ruling, "The gate is still red");
  return std::move(ruling).take();
}

Answer onDiffReady(const Task& task, const DiffReady& fact, std::uint64_t at) {
  if (auto error = notOpen(task, fact.step, StepKind::Diff)) return refuse(*std::move(error));
  Ruling ruling(task, at);
  if (fact.candidate != task.candidate || !task.gate.green || task.gate.candidate != task.candidate) {
    ruling.tell("verify-again", {{"step", fact.step},
                                 {"words", "What was to be shown is not what was verified, so it is verified again."}});
    ruling.openGate();
    return std::move(ruling).take();
  }
  std::string code;
  std::string words;
  if (task.review.unreadable) {
    code = "review-unreadable";
    words = "The review could not be read, so nobody but the gate has judged this work.";
  } else if (task.review.blocking > 0) {
    code = "blocking-findings";
    words = counted(task.review.blocking, "blocking finding is", "blocking findings are") + " left after " +
            counted(static_cast<std::int64_t>(task.round), "fix round", "fix rounds") + ".";
  }
  const bool objected = !code.empty();
  if (task.moved && !objected) {
    code = "branch-moved";
    words =
        "The branch had moved, so the work was put on top of what is there now and verified again. Nobody has "
        "accepted it as it is now: look at the diff, then accept that.";
  }
  const bool risky = fact.risky > 0 && task.policy.risky == Decides::Ask;
  const std::string riskyWords = risky ? riskyText(fact) : "";
  if (risky && !objected) {
    code = "risky";
    words += (words.empty() ? "" : " ") + riskyWords;
  }
  Task shown = task;
  shown.diff = fact.diff;
  ruling.tell("work-ready", {{"step", fact.step},
                             {"diff", fact.diff},
                             {"digest", workDigest(shown)},
                             {"candidate", task.candidate},
                             {"risky", fact.risky},
                             {"risky.paths", fact.riskyPaths},
                             {"problem.code", code},
                             {"problem.words", words}});
  if (risky && task.policy.landing != Decides::Ask) ruling.park(Parked::Risky, "risky", riskyWords);
  // Nobody's word stands in for a person's where a reviewer still objects, or where only a person may.
  if (task.policy.landing != Decides::Ask && !objected && !risky)
    ruling.acceptWork("policy",
                      task.policy.landing == Decides::Branch ? "refs/heads/coffer/" + std::to_string(task.id) : "");
  return std::move(ruling).take();
}

Answer onLanded(const Task& task, const Landed& fact, std::uint64_t at) {
  if (auto error = notOpen(task, fact.step, StepKind::Land)) return refuse(*std::move(error));
  if (fact.commit != task.candidate)
    return refuse({ErrorCode::Internal, "What was landed (" + fact.commit + ") is not what was accepted (" +
                                            task.candidate + ") in " + nameOf(task) +
                                            ". This is a fault of the daemon; look at the repository."});
  Ruling ruling(task, at);
  ruling.tell("landed", {{"step", fact.step}, {"commit", fact.commit}, {"branch", fact.branch}, {"where", fact.where}});
  ruling.openCleanUp();
  return std::move(ruling).take();
}

Answer onCandidateMoved(const Task& task, const CandidateMoved& fact, std::uint64_t at) {
  if (auto error = notOpen(task, fact.step, StepKind::Land)) return refuse(*std::move(error));
  Ruling ruling(task, at);
  if (task.moves >= limits::kInterruptions) {
    const std::string words = "The branch has moved " + std::to_string(task.moves) +
                              " times while the work was verified on top of it. Nothing was changed; accept the work "
                              "when the branch stays still for as long as the gate takes.";
    ruling.tell("landing-failed",
                {{"step", fact.step}, {"code", std::string(errorName(ErrorCode::Stale))}, {"words", words}});
    ruling.park(Parked::Blocked, "branch-moves", words);
    return std::move(ruling).take();
  }
  ruling.tell("candidate-moved",
              {{"step", fact.step}, {"base", fact.base}, {"candidate", fact.candidate}, {"tree", fact.tree}});
  ruling.openGate();
  return std::move(ruling).take();
}

Answer onStepFailed(const Task& task, const StepFailed& fact, std::uint64_t at) {
  const StepKind kind = task.step ? task.step->kind : StepKind::Snapshot;
  if (auto error = notOpen(task, fact.step, kind)) return refuse(*std::move(error));
  Ruling ruling(task, at);
  const std::string code(errorName(fact.error.code));
  Payload payload{{"step", fact.step}, {"code", code}, {"words", shortened(fact.error.message)}};
  switch (kind) {
    case StepKind::Land:
      if (!fact.base.empty()) payload["base"] = fact.base;
      if (!fact.feedback.empty()) payload["feedback"] = fact.feedback;
      ruling.tell("landing-failed", std::move(payload));
      ruling.park(Parked::Blocked, fact.base.empty() ? code : "conflict", fact.error.message);
      break;
    case StepKind::CleanUp:
    case StepKind::Erase:
      ruling.tell("step-failed", payload);
      ruling.openAgain(*ruling.task().last);
      break;
    default:
      ruling.tell("step-failed", payload);
      ruling.park(Parked::Blocked, code, fact.error.message);
  }
  return std::move(ruling).take();
}

Answer onStepInterrupted(const Task& task, const StepInterrupted& fact, std::uint64_t at) {
  const StepKind kind = task.step ? task.step->kind : StepKind::Snapshot;
  if (auto error = notOpen(task, fact.step, kind)) return refuse(*std::move(error));
  Ruling ruling(task, at);
  ruling.runAgain("interrupted",
                  "The system does not know the run of " + fact.step + " any more (a reboot or a crash).");
  return std::move(ruling).take();
}

Answer onCleanedUp(const Task& task, const CleanedUp& fact, std::uint64_t at) {
  const bool erase = task.step && task.step->kind == StepKind::Erase;
  if (auto error = notOpen(task, fact.step, erase ? StepKind::Erase : StepKind::CleanUp))
    return refuse(*std::move(error));
  Ruling ruling(task, at);
  ruling.tell(erase ? "erased" : "cleaned-up", {{"step", fact.step}});
  if (!erase && task.state == State::Landed) ruling.tell("done");
  return std::move(ruling).take();
}

Answer onGivenUp(const Task& task, const GivenUp& fact, std::uint64_t at) {
  if (ended(task.state) || task.state == State::Landed)
    return refuse({ErrorCode::WrongState, nameOf(task) + " has ended already: it is " + standing(task) + "."});
  Ruling ruling(task, at);
  ruling.tell("failed", {{"code", std::string(errorName(fact.error.code))}, {"words", shortened(fact.error.message)}});
  ruling.openCleanUp();
  return std::move(ruling).take();
}

}  // namespace coffer::model
