// The changing half of the engine: what people decide becomes facts, and what they set becomes rows.

#include <algorithm>
#include <utility>

#include "agents/binding.hpp"
#include "dbus/names.hpp"
#include "engine/agent_checks.hpp"
#include "engine/agent_trial.hpp"
#include "engine/asked.hpp"
#include "engine/choice.hpp"
#include "engine/engine.hpp"
#include "engine/keep.hpp"
#include "engine/policy.hpp"
#include "engine/sandbox_needs.hpp"
#include "engine/snapshot.hpp"
#include "engine/views.hpp"
#include "model/digest.hpp"
#include "model/limits.hpp"
#include "model/spelling.hpp"
#include "os/beneath.hpp"
#include "os/clock.hpp"
#include "os/halt_point.hpp"
#include "os/log.hpp"

namespace coffer::engine {
namespace {

template <typename T>
void finish(const api::Done<T>& done, const std::expected<std::string, Error>& outcome, T value) {
  if (outcome)
    done(std::move(value));
  else
    done(std::unexpected(outcome.error()));
}

}  // namespace

std::expected<std::map<model::Role, std::string>, Error> Engine::bindings(const model::Flow& flow,
                                                                          const store::Project& project,
                                                                          const api::StringMap& asked,
                                                                          const std::vector<gid_t>& groups) const {
  for (const auto& [role, binding] : asked)
    if (!model::parse<model::Role>(role)) return invalid(noRole(role));
  std::map<model::Role, std::string> result;
  std::optional<agents::Binding> any;
  for (const auto& [role, word] : model::Spelling<model::Role>::words) {
    if (role == model::Role::Reviewer && !flow.hasReview()) continue;
    agents::Binding binding;
    for (const auto* map : {&asked, &project.agents}) {
      const auto found = map->find(std::string(word));
      if (found == map->end()) continue;
      auto parsed = agents::Binding::parse(found->second);
      if (!parsed) return invalid(parsed.error());
      binding = binding.over(*parsed);
    }
    const auto machine = configuration_.current().roles.find(role);
    if (machine != configuration_.current().roles.end()) binding = binding.over(machine->second);
    if (binding.agent.empty() && any) binding = *any;  // one agent named is one agent for all
    if (!binding.agent.empty() && !any) any = binding;
    result[role] = binding.text();
  }
  for (auto& [role, text] : result) {
    if (text.empty() && any) text = any->text();
    if (text.empty()) {
      auto only = onlyAgent(agents_, std::string(model::spell(role)));
      if (!only) return std::unexpected(only.error());
      text = std::move(*only);
    }
    // As each turn will look it up: what cannot work is told now, before anything is made.
    const auto choice = choose(*store_, agents_, providers_, project.owner, groups, text);
    if (!choice) return std::unexpected(choice.error());
    if (auto missing = agents::notInstalled(choice->descriptor))
      return std::unexpected(Error{ErrorCode::NoAgent, *std::move(missing)});
  }
  return result;
}

std::expected<void, Error> Engine::roomForTask(std::uint32_t owner) const {
  store::TaskFilter open;
  open.owner = owner;
  open.ended = false;
  const auto others = store_->tasks().list(open, 0, limits::kOpenTasksOfUser);
  if (!others) return std::unexpected(others.error());
  if (others->size() < limits::kOpenTasksOfUser) return {};
  return std::unexpected(Error{ErrorCode::Limit, "you have " + std::to_string(others->size()) +
                                                     " tasks that have not ended, as many as one user may: "
                                                     "accept or cancel some"});
}

void Engine::createTask(const api::Request& request, std::uint64_t projectId, const std::string& prompt,
                        const api::TaskSettings& settings, api::Done<std::uint64_t> done) {
  const auto kept = answered(request, "CreateTask");
  if (!kept) return done(std::unexpected(kept.error()));
  if (*kept) return done(Records::decimal(**kept));
  const auto project = store_->projects().get(projectId);
  if (!project) return done(std::unexpected(project.error()));
  if (project->removed)
    return done(std::unexpected(Error{ErrorCode::UnknownObject, "the project " + project->name + " was removed"}));
  if (project->base.empty())
    return done(std::unexpected(
        Error{ErrorCode::Busy, "the project " + project->name +
                                   " is still being added, and its commits are being read: make the task when it is "
                                   "there (coffer project list)"}));
  if (project->owner != request.caller.uid)
    return done(std::unexpected(Error{ErrorCode::AccessDenied, "a task belongs to the owner of its project"}));
  if (prompt.find_first_not_of(" \t\r\n") == std::string::npos)
    return done(invalid("say what is to be done: the request is empty"));
  if (auto sealed = machineCanSeal(); !sealed) return done(std::unexpected(sealed.error()));
  if (project->build.empty() && project->test.empty())
    return done(std::unexpected(
        Error{ErrorCode::NoCommand,
              "the project " + project->name +
                  " has no command that builds or tests it, so nothing could be checked: coffer project "
                  "set " +
                  project->name + " --test COMMAND"}));
  if (auto room = roomForTask(project->owner); !room) return done(std::unexpected(room.error()));
  createTaskFor(request, projectId, prompt, settings, std::move(done));
}

Detached Engine::createTaskFor(api::Request request, std::uint64_t projectId, std::string prompt,
                               api::TaskSettings settings, api::Done<std::uint64_t> done) {
  const auto groups = co_await spendingGroups(context_, request.caller.uid);
  if (!groups) {
    done(std::unexpected(groups.error()));
    co_return;
  }
  const auto project = store_->projects().get(projectId);
  if (!project || project->removed) {
    done(std::unexpected(Error{ErrorCode::UnknownObject, "the project was removed, so no task was made"}));
    co_return;
  }
  const auto name = settings.flow.empty() ? std::string(model::kDefaultFlow) : settings.flow;
  const auto* flow = flows_.find(name);
  if (!flow) {
    std::string known;
    for (const auto& [each, entry] : flows_.all())
      known += (known.empty() ? "" : ", ") + each;
    done(invalid("there is no flow " + name + "; there are " + known));
    co_return;
  }
  auto policy = policyOf(*project, settings.policy);
  if (!policy) {
    done(std::unexpected(policy.error()));
    co_return;
  }
  auto bound = bindings(*flow, *project, settings.agents, *groups);
  if (!bound) {
    done(std::unexpected(bound.error()));
    co_return;
  }
  auto id = store_->tasks().newId();
  if (!id) {
    done(std::unexpected(id.error()));
    co_return;
  }

  model::Created fact;
  fact.id = *id;
  fact.project = projectId;
  fact.owner = project->owner;
  fact.title = titleOf(prompt);
  fact.prompt = model::sha256(prompt);
  fact.flow = *flow;
  fact.policy = *policy;
  fact.agents = std::move(*bound);
  fact.keepsCommits = settings.landingStyle == "merge";
  fact.rounds =
      settings.rounds.value_or(project->rounds.value_or(static_cast<std::uint32_t>(configuration_.current().rounds)));
  fact.budget = settings.budget.value_or(project->budget);
  createTaskNow(request, std::move(fact), prompt, settings.plan, std::move(done));
}

// A person's own plan may be anything that a paste or a download made of it, so it is read where an agent's is: by a
// worker.
Async<std::expected<model::PlanDraft, Error>> Engine::checkPlan(const model::Created& task, std::string plan) {
  StepRun run;
  run.context = &context_;
  run.settings = settings();
  run.task.id = task.id;
  run.task.owner = task.owner;
  run.step.name = model::stepName(task.id, 0, "planner", 0);
  std::vector<InputFile> files = {{"exchange/", {}}, {"exchange/plan.md", plan}};
  Records nothing;
  std::vector<sandbox::Bind> none;
  auto read =
      co_await runOwnWorker(run, "plan", "coffer-collector", "plan", std::move(nothing), none, none, std::move(files));
  static_cast<void>(removeOutput(context_.places, run.unit("plan")));
  context_.releaseUid(task.id, run.unit("plan"));
  if (!read) co_return std::unexpected(read.error());
  if (const auto refusal = read->report.get("plan.refusal"); !refusal.empty())
    co_return invalid("the plan cannot be used: " + std::string(refusal));
  model::PlanDraft draft;
  draft.digest = model::sha256(plan);
  draft.summary = read->report.get("plan.summary");
  co_return draft;
}

Detached Engine::createTaskNow(api::Request request, model::Created fact, std::string prompt,
                               std::optional<std::string> plan, api::Done<std::uint64_t> done) {
  std::vector<std::string> texts = {prompt};
  if (plan) {
    co_await swept();
    const auto place = co_await context_.plans.enter(fact.owner);
    auto draft = co_await checkPlan(fact, *plan);
    if (!draft) {
      done(std::unexpected(draft.error()));
      co_return;
    }
    const auto project = store_->projects().get(fact.project);
    if (!project || project->removed) {
      done(std::unexpected(
          Error{ErrorCode::UnknownObject, "the project was removed while the plan was read, so no task was made"}));
      co_return;
    }
    if (auto room = roomForTask(fact.owner); !room) {
      done(std::unexpected(room.error()));
      co_return;
    }
    fact.plan = std::move(*draft);
    texts.push_back(std::move(*plan));
  }
  const Call call{request.caller.uid, request.id, "CreateTask", std::to_string(fact.id), true};
  // The same call may have come again while the plan was read: then its first answer counts.
  auto made = scheduler_->submit(fact.id, fact, std::move(texts), {}, call);
  finish<std::uint64_t>(done, made, made ? Records::decimal(*made) : 0);
}

std::expected<std::string, Error> Engine::decide(const api::Request& request, std::uint64_t task, const char* operation,
                                                 const model::Fact& fact, const std::vector<std::string>& texts) {
  const auto name = std::string(operation) + " " + std::to_string(task);
  const auto kept = answered(request, name);
  if (!kept) return std::unexpected(kept.error());
  if (*kept) return **kept;
  auto outcome = scheduler_->submit(task, fact, texts, {}, {request.caller.uid, request.id, name, {}, true});
  if (outcome)
    log::write(log::Level::Info, "task " + std::to_string(task) + ": " + operation,
               {{names::kFieldTask, std::to_string(task)},
                {names::kFieldCaller, std::to_string(request.caller.uid)},
                {names::kFieldMember, std::string(names::kTask) + "." + operation}},
               names::kMessageTaskDecided);
  return outcome;
}

void Engine::acceptPlan(const api::Request& request, std::uint64_t task, const std::string& digest,
                        api::Done<api::Nothing> done) {
  finish(done, decide(request, task, "AcceptPlan", model::PlanAccepted{digest}), api::Nothing{});
}

void Engine::acceptWork(const api::Request& request, std::uint64_t task, const std::string& digest,
                        const std::string& branch, api::Done<std::string> done) {
  const auto full = branch.empty() || branch.starts_with("refs/") ? branch : "refs/heads/" + branch;
  auto outcome = decide(request, task, "AcceptWork", model::WorkAccepted{digest, full});
  finish(done, outcome, outcome ? *outcome : std::string{});
}

void Engine::reply(const api::Request& request, std::uint64_t task, const std::string& text,
                   api::Done<api::Nothing> done) {
  if (text.find_first_not_of(" \t\r\n") == std::string::npos) return done(invalid("the reply is empty"));
  finish(done, decide(request, task, "Reply", model::Replied{model::sha256(text)}, {text}), api::Nothing{});
}

void Engine::retryTask(const api::Request& request, std::uint64_t task, const api::RetrySettings& settings,
                       api::Done<api::Nothing> done) {
  const auto& from = settings.from;
  const auto point = model::parse<model::RetryPoint>(from);
  if (!point)
    return done(invalid(from == "land" ? "work is landed again by accepting it: coffer accept"
                                       : "a task is retried from plan, write, gate or review, not from " + from));
  const auto known = store_->tasks().get(task);
  if (!known) return done(std::unexpected(known.error()));
  const auto project = store_->projects().get(known->project);
  if (!project || project->removed)
    return done(std::unexpected(
        Error{ErrorCode::BaseGone, "the project of task " + std::to_string(task) +
                                       " was removed, and its commits with it; add the repository again and make a "
                                       "new task"}));
  finish(done, decide(request, task, "Retry", model::Retried{*point, settings.budget}), api::Nothing{});
}

void Engine::cancelTask(const api::Request& request, std::uint64_t task, api::Done<api::Nothing> done) {
  finish(done, decide(request, task, "Cancel", model::Cancelled{}), api::Nothing{});
}

void Engine::deleteTask(const api::Request& request, std::uint64_t task, api::Done<api::Nothing> done) {
  // Of a deleted task only the call that deleted it gets an answer.
  const auto kept = answered(request, "Delete " + std::to_string(task));
  if (!kept) return done(std::unexpected(kept.error()));
  const auto known = store_->tasks().get(task);
  if (!known) return done(std::unexpected(known.error()));
  if (known->deleted && !*kept)
    return done(std::unexpected(Error{ErrorCode::UnknownObject, "There is no task " + std::to_string(task) + "."}));
  finish(done, decide(request, task, "Delete", model::Deleted{}), api::Nothing{});
}

void Engine::testAgent(const api::Request& request, const std::string& agent, const std::string& model,
                       const std::string& provider, api::Done<api::AgentTestView> done) {
  const auto* descriptor = agents_.find(agent);
  if (!descriptor)
    return done(std::unexpected(Error{ErrorCode::NoAgent, "there is no agent " + agent + ": coffer agent list"}));
  if (auto missing = agents::notInstalled(*descriptor))
    return done(std::unexpected(Error{ErrorCode::NoAgent, *std::move(missing)}));
  if (request.caller.uid == 0)
    return done(
        std::unexpected(Error{ErrorCode::AccessDenied, "root works with no agent: test it as the user who will"}));
  if (auto sealed = machineCanSeal(); !sealed) return done(std::unexpected(sealed.error()));
  const auto text = agent + (model.empty() ? "" : "/" + model) + (provider.empty() ? "" : "@" + provider);
  if (auto parsed = agents::Binding::parse(text); !parsed) return done(invalid(parsed.error()));
  if (!testing_.insert(request.caller.uid).second)
    return done(std::unexpected(Error{ErrorCode::Busy, "another test of an agent of yours runs; wait for its end"}));
  testAgentNow(request.caller.uid, text, std::move(done));
}

Detached Engine::testAgentNow(std::uint32_t user, std::string binding, api::Done<api::AgentTestView> done) {
  std::expected<api::AgentTestView, Error> result;
  co_await swept();
  auto sealed = co_await canary_->prove(configuration_.current().acceptMissing);
  if (!sealed)
    result = std::unexpected(sealed.error());
  else
    result = co_await tryAgent(context_, scheduler_->admission(), settings(), user, std::move(binding));
  testing_.erase(user);
  done(std::move(result));
}

void Engine::reload(const api::Request& request, api::Done<api::Nothing> done) {
  const auto kept = answered(request, "Reload");
  if (!kept) return done(std::unexpected(kept.error()));
  if (*kept) return done(api::Nothing{});
  reloadNow(request, std::move(done));
}

Detached Engine::reloadNow(api::Request request, api::Done<api::Nothing> done) {
  readFiles();
  const auto applied = applyRules();
  co_await checkUids();
  scheduler_->reconsider();
  co_await learnNames();
  if (!applied) {
    done(std::unexpected(applied.error()));
    co_return;
  }
  // What it changes is not in the store: read twice is as good as once.
  const auto told = once(request, "Reload", [] { return std::expected<std::string, Error>(std::string{}); });
  if (told)
    done(api::Nothing{});
  else
    done(std::unexpected(told.error()));
}

}  // namespace coffer::engine
