#include "model/ruling.hpp"

#include <utility>

#include "model/limits.hpp"
#include "model/step_payload.hpp"
#include "model/visible_text.hpp"
#include "model/work_digest.hpp"

namespace coffer::model {

std::string nameOf(const Task& task) { return "task " + std::to_string(task.id); }

std::string standing(const Task& task) {
  std::string text(spell(task.state));
  if (task.parked.reason != Parked::No) text.append(", parked: ").append(spell(task.parked.reason));
  return text;
}

std::string shortened(std::string_view text) { return shortened(text, limits::kWordsBytes); }

void Ruling::tell(std::string type, Payload payload) {
  Event event{.sequence = 0, .at = at_, .type = std::move(type), .payload = std::move(payload)};
  apply(task_, event);
  decision_.events.push_back(std::move(event));
}

void Ruling::open(Step step) {
  const std::string word = roleWord(step);
  const auto before = task_.attempts.find(word);
  step.lap = task_.lap;
  step.round = task_.round;
  step.attempt = before == task_.attempts.end() ? 1 : before->second + 1;
  step.name = stepName(task_.id, step.lap, word, step.attempt);
  decision_.step = step;
  tell("step-opened", toPayload(step));
}

void Ruling::openSnapshot() { open({.kind = StepKind::Snapshot}); }

void Ruling::openRestore() { open({.kind = StepKind::Restore, .base = task_.base}); }

void Ruling::openTurn(Role role, TurnKind kind, std::map<std::string, std::string> more) {
  Step step{.kind = StepKind::Turn,
            .role = role,
            .turn = kind,
            .conversation = conversationOf(task_, role),
            .base = task_.base};
  if (role != Role::Planner) step.candidate = task_.candidate;
  step.inputs = std::move(more);
  step.inputs.try_emplace("prompt", task_.prompt);
  step.inputs.try_emplace("plan", task_.planAccepted.empty() ? task_.plan : task_.planAccepted);
  if (role != Role::Planner) step.inputs.try_emplace("review", task_.reviewText);
  if (role == Role::Writer) step.inputs.try_emplace("feedback", task_.conflict);
  std::erase_if(step.inputs, [](const auto& input) { return input.second.empty(); });
  if (role == Role::Writer && !task_.gate.green) step.inputs.try_emplace("feedback", task_.gate.feedback);
  std::erase_if(step.inputs, [](const auto& input) { return input.second.empty(); });
  open(std::move(step));
}

void Ruling::openReview() {
  tell("review-started", {{"number", static_cast<std::int64_t>(task_.reviews + 1)}, {"candidate", task_.candidate}});
  openTurn(Role::Reviewer, TurnKind::Review);
}

void Ruling::openImport() { open({.kind = StepKind::Import, .base = task_.base}); }

void Ruling::openGate() { open({.kind = StepKind::Gate, .base = task_.base, .candidate = task_.candidate}); }

void Ruling::openDiff() { open({.kind = StepKind::Diff, .base = task_.base, .candidate = task_.candidate}); }

void Ruling::openLand() {
  open({.kind = StepKind::Land, .base = task_.base, .candidate = task_.candidate, .branch = task_.landBranch});
}

void Ruling::openCleanUp() { open({.kind = StepKind::CleanUp}); }

void Ruling::openErase() { open({.kind = StepKind::Erase}); }

void Ruling::openAgain(Step step) { open(std::move(step)); }

void Ruling::goOn() {
  const bool verified = task_.gate.green && task_.gate.candidate == task_.candidate;
  const bool reviewed = task_.reviewKept || (task_.review.run != 0 && task_.review.candidate == task_.candidate);
  if (task_.base.empty())
    openSnapshot();
  else if (task_.planAccepted.empty() && task_.plan.empty())
    openTurn(Role::Planner, TurnKind::Plan);
  else if (task_.planAccepted.empty())
    planReady(task_.plan, task_.planSummary);
  else if (task_.candidate.empty())
    openTurn(Role::Writer, TurnKind::Write);
  else if (!verified)
    openGate();
  else if (task_.flow.hasReview() && !reviewed)
    openReview();
  else
    openDiff();
}

void Ruling::park(Parked reason, std::string_view code, std::string words, std::uint64_t until) {
  Payload payload{{"reason", std::string(spell(reason))}, {"code", std::string(code)}, {"words", shortened(words)}};
  if (until != 0) payload["until"] = static_cast<std::int64_t>(until);
  tell("parked", std::move(payload));
}

void Ruling::planReady(const std::string& digest, const std::string& summary) {
  tell("plan-ready", {{"digest", digest}, {"summary", summary}});
  if (task_.policy.plan == Decides::Auto) acceptPlan("policy");
}

void Ruling::acceptPlan(std::string_view by) {
  tell("plan-accepted", {{"digest", task_.plan}, {"by", std::string(by)}});
  openTurn(Role::Writer, TurnKind::Write);
}

void Ruling::acceptWork(std::string_view by, const std::string& branch) {
  tell("work-accepted",
       {{"digest", task_.workDigest}, {"by", std::string(by)}, {"branch", branch}, {"candidate", task_.candidate}});
  openLand();
}

void Ruling::askQuestion(const std::string& digest, Role role) {
  tell("question-asked", {{"digest", digest}, {"role", std::string(spell(role))}});
  park(Parked::Question, "question", "The " + std::string(spell(role)) + " asks something and waits for the answer.");
}

bool Ruling::startRound(TurnKind kind, std::string reason, std::map<std::string, std::string> more) {
  if (task_.round >= task_.rounds) return false;
  tell("round-started", {{"round", static_cast<std::int64_t>(task_.round + 1)},
                         {"of", static_cast<std::int64_t>(task_.rounds)},
                         {"reason", shortened(reason)}});
  openTurn(Role::Writer, kind, std::move(more));
  return true;
}

void Ruling::runAgain(std::string type, std::string words) {
  if (type != "turn-ended") tell(std::move(type), {{"step", task_.step->name}, {"words", words}});
  const StepKind kind = task_.last->kind;
  // A step that is about the owner's repository or about taking things away has to come to an end, whatever it takes.
  const bool mustEnd = kind == StepKind::Land || kind == StepKind::CleanUp || kind == StepKind::Erase;
  if (!mustEnd && task_.interruptions > limits::kInterruptions)
    park(Parked::Blocked, "interrupted", words + " It was run again too often; look at the log, then retry.");
  else
    openAgain(*task_.last);
}

Decision Ruling::take() && { return std::move(decision_); }

Task after(Task task, const Decision& decision) {
  for (const auto& event : decision.events)
    apply(task, event);
  return task;
}

}  // namespace coffer::model
