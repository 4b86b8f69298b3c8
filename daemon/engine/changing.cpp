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

std::string noRole(const std::string& role) {
  return "there is no role " + role + "; there are planner, writer, reviewer";
}

// What a repository's folder suggests as a name; the person can always give another.
std::string nameFrom(std::string_view directory) {
  while (directory.ends_with('/'))
    directory.remove_suffix(1);
  const auto slash = directory.rfind('/');
  std::string name;
  for (const char c : directory.substr(slash == std::string_view::npos ? 0 : slash + 1)) {
    const char lower = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    if ((lower >= 'a' && lower <= 'z') || (lower >= '0' && lower <= '9'))
      name += lower;
    else if (!name.empty() && name.back() != '-')
      name += '-';
  }
  while (name.ends_with('-'))
    name.pop_back();
  return name.substr(0, 31);
}

std::expected<model::Policy, Error> policyOf(const store::Project& project, const api::StringMap& asked) {
  model::Policy policy;
  for (const auto* map : {&project.policy, &asked}) {
    for (const auto& [point, word] : *map) {
      const auto decides = model::parse<model::Decides>(word);
      if (!decides) return invalid("policy " + point + " is ask or auto, not " + word);
      if (*decides == model::Decides::Branch && point != "landing")
        return invalid("only landing can be decided by branch");
      // Commands of a gate are the owner's to set. Nobody may be told that a writer's would be taken.
      if (point == "command" && *decides != model::Decides::Ask)
        return std::unexpected(Error{ErrorCode::Unsupported,
                                     "a command of the gate that an agent proposes is never taken by itself: set yours "
                                     "with coffer project set, and leave the policy command at ask"});
      if (point == "plan")
        policy.plan = *decides;
      else if (point == "command")
        policy.command = *decides;
      else if (point == "risky")
        policy.risky = *decides;
      else if (point == "landing")
        policy.landing = *decides;
      else
        return invalid("there is no policy " + point + "; there are plan, command, risky, landing");
    }
  }
  return policy;
}

void apply(store::Project& project, const api::ProjectSettings& settings) {
  if (settings.authorName) project.authorName = *settings.authorName;
  if (settings.authorEmail) project.authorEmail = *settings.authorEmail;
  if (settings.build) project.build = *settings.build;
  if (settings.test) project.test = *settings.test;
  if (settings.budget) project.budget = *settings.budget;
  if (settings.rounds) project.rounds = settings.rounds;
  const auto merge = [](api::StringMap& into, const api::StringMap& from) {
    for (const auto& [key, value] : from) {
      if (value.empty())
        into.erase(key);
      else
        into[key] = value;
    }
  };
  merge(project.policy, settings.policy);
  merge(project.agents, settings.agents);
}

std::expected<void, Error> checkProject(const store::Project& project) {
  for (const auto* text : {&project.authorName, &project.authorEmail}) {
    if (text->empty())
      return invalid(
          "commits are made in your name: set it with git config user.name and git config user.email, then add the "
          "project again");
    if (text->find_first_of(std::string("<>\n\0", 4)) != std::string::npos)
      return invalid("a name or an email may not hold <, > or a new line");
  }
  if (project.rounds.value_or(0) > limits::kRoundsMost)
    return std::unexpected(
        Error{ErrorCode::Limit, "a task has at most " + std::to_string(limits::kRoundsMost) + " fix rounds"});
  if (project.budget > limits::kBudgetMost)
    return std::unexpected(Error{ErrorCode::Limit, "a budget that large is none"});
  for (const auto& [role, binding] : project.agents) {
    if (!model::parse<model::Role>(role)) return invalid(noRole(role));
    if (auto parsed = agents::Binding::parse(binding); !parsed) return invalid(parsed.error());
  }
  return policyOf(project, {}).transform([](const auto&) {});
}

template <typename T>
void finish(const api::Done<T>& done, const std::expected<std::string, Error>& outcome, T value) {
  if (outcome)
    done(std::move(value));
  else
    done(std::unexpected(outcome.error()));
}

}  // namespace

// What is installed changes; what no descriptor names is a mistake of the caller's.
std::expected<void, Error> Engine::checkAgents(const api::StringMap& named) const {
  for (const auto& [role, text] : named) {
    const auto binding = agents::Binding::parse(text);
    if (binding && !agents_.find(binding->agent))
      return std::unexpected(
          Error{ErrorCode::NoAgent, "there is no agent called " + binding->agent + ": coffer agent list"});
  }
  return {};
}

std::expected<std::map<model::Role, std::string>, Error> Engine::bindings(const model::Flow& flow,
                                                                          const store::Project& project,
                                                                          const api::StringMap& asked) const {
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
    const auto choice = choose(*store_, agents_, providers_, project.owner, text);
    if (!choice) return std::unexpected(choice.error());
    if (auto missing = agents::notInstalled(choice->descriptor))
      return std::unexpected(Error{ErrorCode::NoAgent, *std::move(missing)});
  }
  return result;
}

void Engine::addProject(const api::Request& request, const std::string& directory, const std::string& name,
                        const api::ProjectSettings& settings, api::Done<std::uint64_t> done) {
  const auto kept = answered(request, "AddProject");
  if (!kept) return done(std::unexpected(kept.error()));
  if (*kept) return tellAdded(Records::decimal(**kept), std::move(done));
  store::Project project;
  project.owner = request.caller.uid;
  project.directory = directory;
  project.name = name.empty() ? nameFrom(directory) : name;
  apply(project, settings);
  if (directory.empty() || directory.front() != '/' || directory.find('\0') != std::string::npos)
    return done(invalid("the directory is named by its absolute path"));
  if (!goodName(project.name))
    return done(invalid("a project's name is [a-z0-9][a-z0-9-]*, at most 31 characters; give one with --name"));
  if (auto checked = checkProject(project); !checked) return done(std::unexpected(checked.error()));
  if (auto known = checkAgents(project.agents); !known) return done(std::unexpected(known.error()));
  if (context_.obstacle) return done(std::unexpected(*context_.obstacle));
  if (project.owner == 0)
    return done(std::unexpected(
        Error{ErrorCode::AccessDenied, "root owns no project: add it as the user whose repository it is"}));
  const auto others = store_->projects().list(project.owner);
  if (!others) return done(std::unexpected(others.error()));
  if (others->size() >= limits::kProjectsOfUser)
    return done(std::unexpected(
        Error{ErrorCode::Limit, "you have " + std::to_string(others->size()) +
                                    " projects, as many as one user may: coffer project remove one that you do not "
                                    "need"}));
  if (const auto full = scheduler_->admission().full(project.owner)) return done(std::unexpected(refusedNow(*full)));
  addProjectNow(request, std::move(project), std::move(done));
}

Detached Engine::addProjectNow(api::Request request, store::Project project, api::Done<std::uint64_t> done) {
  if (auto met = co_await needsMet(context_, configuration_.current().acceptMissing); !met) {
    done(std::unexpected(met.error()));
    co_return;
  }
  const auto made = once(request, "AddProject", [&]() -> std::expected<std::string, Error> {
    auto id = store_->projects().add(project);
    if (!id) return std::unexpected(id.error());
    return std::to_string(*id);
  });
  if (!made) {
    done(std::unexpected(made.error()));
    co_return;
  }
  project.id = Records::decimal(made->text);
  adding_[project.id].push_back(std::move(done));
  co_await swept();
  StepRun run;
  run.context = &context_;
  run.settings = settings();
  run.task.owner = project.owner;
  run.step.name = "coffer-p" + std::to_string(project.id) + "-add";
  run.project = project;
  os::haltAt("reserved", run.step.name);
  auto snapshot = co_await takeSnapshot(run);
  if (snapshot) {
    project.base = snapshot->commit;
    if (auto set = store_->projects().set(project); !set) snapshot = std::unexpected(set.error());
  }
  if (!snapshot) {
    abandonProject(project);
    removeProjectFiles(project.id);
  } else if (observer_) {
    observer_->objectAdded(api::ObjectKind::Project, project.id);
  }
  const auto waiting = adding_.extract(project.id);
  for (const auto& each : waiting.mapped()) {
    if (snapshot)
      each(project.id);
    else
      each(std::unexpected(snapshot.error()));
  }
}

// The same call again while the project is still being added has the answer of the first.
void Engine::tellAdded(std::uint64_t project, api::Done<std::uint64_t> done) {
  const auto adding = adding_.find(project);
  if (adding == adding_.end()) return done(project);
  adding->second.push_back(std::move(done));
}

void Engine::removeProjectFiles(std::uint64_t id) {
  if (auto projects = os::openDirectory(context_.places.state + "/projects"))
    if (auto gone = os::removeTree(projects->get(), std::to_string(id)); !gone)
      log::warning("project " + std::to_string(id) + ": " + gone.error().message,
                   {{names::kFieldProject, std::to_string(id)}});
  context_.releaseUids(0, "coffer-p" + std::to_string(id) + "-add-");
  context_.releaseUids(0, "project-" + std::to_string(id) + "-");
}

void Engine::setProject(const api::Request& request, std::uint64_t id, const api::ProjectSettings& settings,
                        api::Done<api::Nothing> done) {
  const auto set = once(request, "Project.Set " + std::to_string(id), [&]() -> std::expected<std::string, Error> {
    auto project = store_->projects().get(id);
    if (!project) return std::unexpected(project.error());
    apply(*project, settings);
    if (auto checked = checkProject(*project); !checked) return std::unexpected(checked.error());
    if (auto known = checkAgents(settings.agents); !known) return std::unexpected(known.error());
    if (auto written = store_->projects().set(*project); !written) return std::unexpected(written.error());
    return std::string{};
  });
  if (!set) return done(std::unexpected(set.error()));
  if (observer_ && !set->again) observer_->objectChanged(api::ObjectKind::Project, id);
  done(api::Nothing{});
}

void Engine::removeProject(const api::Request& request, std::uint64_t id, api::Done<api::Nothing> done) {
  const auto project = store_->projects().get(id);
  if (!project) return done(std::unexpected(project.error()));
  const auto removed = once(request, "Project.Remove " + std::to_string(id),
                            [&] { return store_->projects().remove(id).transform([] { return std::string{}; }); });
  if (!removed) return done(std::unexpected(removed.error()));
  if (removed->again) return done(api::Nothing{});
  removeProjectFiles(id);
  if (observer_) observer_->objectRemoved(api::ObjectKind::Project, id, {project->owner, false});
  done(api::Nothing{});
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
  store::TaskFilter open;
  open.owner = project->owner;
  open.ended = false;
  const auto others = store_->tasks().list(open, 0, limits::kOpenTasksOfUser);
  if (!others) return done(std::unexpected(others.error()));
  if (others->size() >= limits::kOpenTasksOfUser)
    return done(std::unexpected(Error{ErrorCode::Limit, "you have " + std::to_string(others->size()) +
                                                            " tasks that have not ended, as many as one user may: "
                                                            "accept or cancel some"}));
  const auto name = settings.flow.empty() ? std::string(model::kDefaultFlow) : settings.flow;
  const auto* flow = flows_.find(name);
  if (!flow) {
    std::string known;
    for (const auto& [each, entry] : flows_.all())
      known += (known.empty() ? "" : ", ") + each;
    return done(invalid("there is no flow " + name + "; there are " + known));
  }
  auto policy = policyOf(*project, settings.policy);
  if (!policy) return done(std::unexpected(policy.error()));
  auto bound = bindings(*flow, *project, settings.agents);
  if (!bound) return done(std::unexpected(bound.error()));
  auto id = store_->tasks().newId();
  if (!id) return done(std::unexpected(id.error()));

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
  readFiles();
  checkUids();
  scheduler_->reconsider();
  if (auto applied = applyRules(); !applied) return done(std::unexpected(applied.error()));
  // What it changes is not in the store: read twice is as good as once.
  const auto told = once(request, "Reload", [] { return std::expected<std::string, Error>(std::string{}); });
  if (!told) return done(std::unexpected(told.error()));
  done(api::Nothing{});
}

}  // namespace coffer::engine
