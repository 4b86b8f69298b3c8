#include <functional>
#include <unordered_map>

#include "model/event.hpp"
#include "model/spelling.hpp"
#include "model/step_payload.hpp"
#include "model/task.hpp"

namespace coffer::model {

const std::string& Event::text(std::string_view name) const {
  static const std::string none;
  const auto found = payload.find(std::string(name));
  if (found == payload.end()) return none;
  const auto* value = std::get_if<std::string>(&found->second);
  return value != nullptr ? *value : none;
}

std::int64_t Event::number(std::string_view name) const {
  const auto found = payload.find(std::string(name));
  if (found == payload.end()) return 0;
  const auto* value = std::get_if<std::int64_t>(&found->second);
  return value != nullptr ? *value : 0;
}

std::string conversationOf(const Task& task, Role role) {
  if (role == Role::Planner) return task.flow.planner;
  if (role == Role::Writer) return task.flow.writer;
  return task.flow.freshReviewer ? task.flow.reviewer + std::to_string(task.reviews) : task.flow.reviewer;
}

namespace {

std::uint64_t unsignedOf(const Event& event, std::string_view name) {
  return static_cast<std::uint64_t>(event.number(name));
}

void closeStep(Task& task) {
  if (!task.step) return;
  task.last = std::move(task.step);
  task.step.reset();
  task.interruptions = 0;
}

/// A turn that is cut off by a decision still tells its end, and its usage still counts.
void dropStep(Task& task) {
  if (task.step && task.step->kind == StepKind::Turn) task.stopping = task.step;
  closeStep(task);
}

void knowBase(Task& task, const std::string& commit) {
  if (!commit.empty() && (task.bases.empty() || task.bases.back() != commit)) task.bases.push_back(commit);
}

void newLap(Task& task) {
  ++task.lap;
  task.attempts.clear();
  task.reviewKept = false;
  task.noChangeTold = false;
}

void created(Task& task, const Event& event) {
  task.id = unsignedOf(event, "task");
  task.project = unsignedOf(event, "project");
  task.owner = static_cast<std::uint32_t>(event.number("owner"));
  task.title = event.text("title");
  task.prompt = event.text("prompt");
  task.rounds = unsignedOf(event, "rounds");
  task.budget = unsignedOf(event, "budget");
  task.keepsCommits = event.number("keeps-commits") != 0;
  task.flow = {.name = event.text("flow"),
               .planner = event.text("flow.planner"),
               .writer = event.text("flow.writer"),
               .reviewer = event.text("flow.reviewer"),
               .freshReviewer = event.number("flow.fresh-reviewer") != 0,
               .selfReview = event.number("flow.self-review") != 0};
  const auto decides = [&](std::string_view name) { return parse<Decides>(event.text(name)).value_or(Decides::Ask); };
  task.policy = {.plan = decides("policy.plan"),
                 .command = decides("policy.command"),
                 .risky = decides("policy.risky"),
                 .landing = decides("policy.landing")};
  for (const auto& [role, word] : Spelling<Role>::words)
    if (const auto& agent = event.text("agent." + std::string(word)); !agent.empty()) task.agents[role] = agent;
  task.plan = event.text("plan");
  task.planSummary = event.text("plan.summary");
  task.state = State::Queued;
  task.created = event.at;
}

void stepOpened(Task& task, const Event& event) {
  Step step = stepOf(event);
  task.attempts[roleWord(step)] = step.attempt;
  task.parked = {};
  if (step.kind != StepKind::CleanUp && step.kind != StepKind::Erase) task.problem = {};
  switch (step.kind) {
    case StepKind::Turn: {
      task.conversations[step.conversation];
      const bool repair = step.turn == TurnKind::PlanRepair || step.turn == TurnKind::ReviewRepair;
      task.repaired = repair;
      task.state = step.role == Role::Planner  ? State::Planning
                   : step.role == Role::Writer ? State::Writing
                                               : State::Reviewing;
      if (step.role == Role::Writer && step.turn != TurnKind::SelfReview) {
        task.answer.clear();
        if (step.turn == TurnKind::NoChange)
          task.noChangeTold = true;
        else
          task.cause = step.turn;
      }
      break;
    }
    case StepKind::Gate:
      task.state = State::Verifying;
      break;
    case StepKind::Land:
      task.state = State::Landing;
      break;
    case StepKind::Snapshot:
    case StepKind::Restore:
    case StepKind::Import:
    case StepKind::Diff:
    case StepKind::CleanUp:
    case StepKind::Erase:
      break;
  }
  task.step = std::move(step);
}

void turnEnded(Task& task, const Event& event) {
  const auto& name = event.text("step");
  const std::uint64_t interruptions = task.interruptions;
  if (task.step && task.step->name == name)
    closeStep(task);
  else if (task.stopping && task.stopping->name == name)
    task.stopping.reset();
  const auto outcome = parse<TurnOutcome>(event.text("outcome")).value_or(TurnOutcome::Failed);
  if (outcome == TurnOutcome::Interrupted) task.interruptions = interruptions + 1;
  if (outcome == TurnOutcome::Unreachable) ++task.troubles;
  if (outcome == TurnOutcome::Ok) task.troubles = 0;
  // A turn that was never begun is none.
  if (outcome == TurnOutcome::OverBudget && event.number("run") == 0) return;
  auto& conversation = task.conversations[event.text("conversation")];
  ++conversation.turns;
  if (const auto& session = event.text("session"); !session.empty()) conversation.session = session;
  if (const auto& answer = event.text("answer"); !answer.empty()) {
    task.answer = answer;
    task.comments.push_back({.digest = answer, .writers = true});
  }
  task.usage += Usage{.input = event.number("usage.input"),
                      .cached = event.number("usage.cached"),
                      .output = event.number("usage.output"),
                      .reasoning = event.number("usage.reasoning"),
                      .requests = event.number("usage.requests"),
                      .costMicro = event.number("usage.cost"),
                      .wallMicros = event.number("usage.wall")};
  ++task.runs;
}

void imported(Task& task, const Event& event) {
  closeStep(task);
  task.writerCommit = event.text("writer-commit");
  if (event.number("kept") != 0) return;
  task.noChangeTold = false;
  task.moved = false;
  task.conflict.clear();
  task.base = event.text("base");
  task.candidate = event.text("candidate");
  task.tree = event.text("tree");
  task.changedPaths = event.number("changed");
  task.gate = {};
  task.review = {};
  task.diff.clear();
  task.workDigest.clear();
}

void gateEnded(Task& task, const Event& event) {
  closeStep(task);
  task.gate = {.run = unsignedOf(event, "run"),
               .candidate = event.text("candidate"),
               .tree = task.tree,
               .base = task.base,
               .green = event.text("verdict") == "green",
               .causes = event.text("causes"),
               .feedback = event.text("feedback")};
}

void reviewEnded(Task& task, const Event& event) {
  task.review = {.run = unsignedOf(event, "run"),
                 .candidate = event.text("candidate"),
                 .digest = event.text("digest"),
                 .blocking = event.number("blocking"),
                 .findings = event.number("findings"),
                 .unreadable = event.number("unreadable") != 0};
  if (!task.review.unreadable) task.reviewText = task.review.digest;
}

void parkedAt(Task& task, const Event& event) {
  dropStep(task);
  task.parked = {.reason = parse<Parked>(event.text("reason")).value_or(Parked::Blocked),
                 .code = event.text("code"),
                 .words = event.text("words"),
                 .until = unsignedOf(event, "until")};
  if (task.parked.reason == Parked::Blocked) {
    task.troubles = 0;
    task.interruptions = 0;
  }
}

void replied(Task& task, const Event& event) {
  task.comments.push_back({.digest = event.text("text")});
  task.question.clear();
  task.parked = {};
  task.round = 0;
  task.moves = 0;
  newLap(task);
  if (event.text("to") == spell(Role::Planner)) {
    task.plan.clear();
    task.planSummary.clear();
  }
  task.diff.clear();
  task.workDigest.clear();
}

/// What was made from the point on counts no more; what came before it stays.
void takenUpFrom(Task& task, RetryPoint from) {
  if (from == RetryPoint::Stopped) return;
  task.question.clear();
  task.diff.clear();
  task.workDigest.clear();
  task.review = {};
  if (from == RetryPoint::Review) return;
  task.gate = {};
  if (from == RetryPoint::Gate) return;
  task.round = 0;
  task.candidate.clear();
  task.tree.clear();
  task.writerCommit.clear();
  task.changedPaths = 0;
  task.reviewText.clear();
  task.answer.clear();
  // What the writer said was about commits that were given up; what the person said counts on.
  std::erase_if(task.comments, [](const Comment& comment) { return comment.writers; });
  if (from == RetryPoint::Write) return;
  task.plan.clear();
  task.planSummary.clear();
  task.planAccepted.clear();
}

void retried(Task& task, const Event& event) {
  const auto from = parse<RetryPoint>(event.text("from")).value_or(RetryPoint::Stopped);
  if (ended(task.state)) {
    // Homes and workspaces are gone: whoever goes on begins without a memory.
    task.conversations.clear();
    task.state = State::Queued;
    task.cleaned = false;
    task.problem = {};
    task.workAccepted.clear();
    task.landBranch.clear();
    task.diff.clear();
    task.workDigest.clear();
    task.interruptions = 0;
    task.troubles = 0;
    newLap(task);
  } else if (from != RetryPoint::Stopped) {
    newLap(task);
  }
  takenUpFrom(task, from);
  if (event.payload.contains("budget")) task.budget = unsignedOf(event, "budget");
}

void interrupted(Task& task, const Event&) {
  const std::uint64_t count = task.interruptions + 1;
  closeStep(task);
  task.interruptions = count;
}

void candidateMoved(Task& task, const Event& event) {
  closeStep(task);
  task.base = event.text("base");
  knowBase(task, task.base);
  task.candidate = event.text("candidate");
  task.tree = event.text("tree");
  task.moved = true;
  ++task.moves;
  task.gate = {};
  task.reviewKept = task.review.run != 0;
  task.diff.clear();
  task.workDigest.clear();
  task.workAccepted.clear();
}

using Effect = std::function<void(Task&, const Event&)>;

const std::unordered_map<std::string_view, Effect>& effects() {
  static const std::unordered_map<std::string_view, Effect> table{
      {"created", created},
      {"step-opened", stepOpened},
      {"turn-ended", turnEnded},
      {"imported", imported},
      {"gate-ended", gateEnded},
      {"review-ended", reviewEnded},
      {"parked", parkedAt},
      {"replied", replied},
      {"retried", retried},
      {"interrupted", interrupted},
      {"verify-again", interrupted},
      {"candidate-moved", candidateMoved},
      {"snapshot-taken",
       [](Task& task, const Event& event) {
         closeStep(task);
         task.base = event.text("base");
         task.bases = {task.base};
         task.branch = event.text("branch");
         task.notIn = event.text("not-in");
       }},
      {"restored",
       [](Task& task, const Event&) {
         closeStep(task);
         // What follows may be no more than to show what was verified and reviewed before.
         if (!task.candidate.empty() && task.gate.green && task.gate.candidate == task.candidate)
           task.state = task.review.run != 0 ? State::Reviewing : State::Verifying;
       }},
      {"plan-ready",
       [](Task& task, const Event& event) {
         task.plan = event.text("digest");
         task.planSummary = event.text("summary");
         task.state = State::PlanReady;
         task.parked = {};
       }},
      {"plan-accepted",
       [](Task& task, const Event& event) {
         task.planAccepted = event.text("digest");
         task.round = 0;
       }},
      {"question-asked",
       [](Task& task, const Event& event) {
         task.question = event.text("digest");
         task.questionBy = parse<Role>(event.text("role")).value_or(Role::Writer);
       }},
      {"import-refused", [](Task& task, const Event&) { closeStep(task); }},
      {"no-change", [](Task& task, const Event&) { closeStep(task); }},
      {"step-failed", [](Task& task, const Event&) { closeStep(task); }},
      {"round-started",
       [](Task& task, const Event& event) {
         task.round = unsignedOf(event, "round");
         newLap(task);
       }},
      {"review-started", [](Task& task, const Event& event) { task.reviews = unsignedOf(event, "number"); }},
      {"work-ready",
       [](Task& task, const Event& event) {
         closeStep(task);
         task.diff = event.text("diff");
         task.risky = event.number("risky");
         task.workDigest = event.text("digest");
         task.state = State::Ready;
         task.parked = {};
         task.problem = {.code = event.text("problem.code"), .words = event.text("problem.words")};
       }},
      {"work-accepted",
       [](Task& task, const Event& event) {
         task.workAccepted = event.text("digest");
         task.landBranch = event.text("branch");
         if (event.text("by") == "person") task.moves = 0;
       }},
      {"landing-failed",
       [](Task& task, const Event& event) {
         closeStep(task);
         knowBase(task, event.text("base"));
         if (const auto& feedback = event.text("feedback"); !feedback.empty()) task.conflict = feedback;
         task.state = State::Ready;
         task.workAccepted.clear();
         task.landBranch.clear();
       }},
      {"landed",
       [](Task& task, const Event& event) {
         closeStep(task);
         task.state = State::Landed;
         task.landed.push_back(
             {.commit = event.text("commit"), .branch = event.text("branch"), .where = event.text("where")});
       }},
      {"cancelled",
       [](Task& task, const Event&) {
         dropStep(task);
         task.state = State::Cancelled;
         task.parked = {};
         task.question.clear();
       }},
      {"failed",
       [](Task& task, const Event& event) {
         dropStep(task);
         task.state = State::Failed;
         task.problem = {.code = event.text("code"), .words = event.text("words")};
         task.parked = {};
         task.question.clear();
       }},
      {"cleaned-up",
       [](Task& task, const Event&) {
         closeStep(task);
         task.cleaned = true;
       }},
      {"done", [](Task& task, const Event&) { task.state = State::Done; }},
      {"deleted", [](Task& task, const Event&) { task.deleted = true; }},
      {"erased", [](Task& task, const Event&) { closeStep(task); }},
  };
  return table;
}

}  // namespace

void apply(Task& task, const Event& event) {
  if (const auto found = effects().find(event.type); found != effects().end()) found->second(task, event);
  task.changed = event.at;
  if (event.sequence != 0) task.sequence = event.sequence;
}

}  // namespace coffer::model
