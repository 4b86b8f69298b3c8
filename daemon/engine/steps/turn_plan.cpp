#include "engine/turn_plan.hpp"

#include <algorithm>
#include <cctype>
#include <utility>

#include "engine/choice.hpp"
#include "model/spelling.hpp"
#include "os/clock.hpp"

namespace coffer::engine {
namespace {

// What an agent that is only tried sees as /src.
constexpr auto kTrialFolder = "trial";

std::string lower(std::string text) {
  for (auto& c : text)
    c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

std::uint64_t turnMicros(const StepRun& run) {
  return (run.trial ? run.trial->minutes : run.settings.configuration->current().turnMinutes) * 60'000'000;
}

}  // namespace

std::string homeFolder(const TurnPlan& plan) { return "home-" + lower(plan.letter); }

std::expected<TurnPlan, Error> planTurn(StepRun& run, bool began, bool forgotten) {
  TurnPlan plan;
  plan.letter = run.step.conversation;
  const auto role = model::bindingRole(run.task.flow, run.step.role);
  const auto bound = run.task.agents.find(role);
  auto choice = choose(*run.context->store, *run.settings.agents, *run.settings.providers, run.task.owner,
                       run.ownerGroups, bound == run.task.agents.end() ? "" : bound->second, began);
  if (!choice) return std::unexpected(choice.error());
  plan.binding = std::move(choice->binding);
  plan.descriptor = std::move(choice->descriptor);
  plan.provider = std::move(choice->provider);
  plan.providerFile = std::move(choice->providerFile);

  const auto known = run.task.conversations.find(plan.letter);
  if (known != run.task.conversations.end() && !forgotten) plan.session = known->second.session;
  auto conversation = run.context->store->conversations().get(run.task.id, plan.letter, os::now());
  if (!conversation) return std::unexpected(conversation.error());
  plan.conversation = conversation->id;
  plan.uid = conversation->uid;

  agents::TurnInput input;
  input.model = plan.binding.model;
  input.endpoint = "http://127.0.0.1:4180";
  input.dummyKey = run.context->dummyKey(run.task.id, plan.letter);
  input.session = plan.session;
  input.home = "/home/agent";
  auto command = agents::buildTurnCommand(*plan.descriptor, input);
  if (!command) return std::unexpected(command.error());
  plan.command = std::move(*command);

  auto& brief = plan.brief;
  brief.task = run.task.id;
  brief.title = run.task.title;
  brief.role = run.step.role;
  brief.kind = run.step.turn;
  brief.round = run.step.round;
  brief.newConversation = plan.session.empty();
  brief.base = run.step.base.empty() ? run.task.base : run.step.base;
  brief.branch = run.task.branch;
  brief.deadline = os::now() + turnMicros(run);
  for (const auto& command_ : run.project.build)
    brief.commands.push_back(command_);
  for (const auto& command_ : run.project.test)
    brief.commands.push_back(command_);
  const auto text = [&](const char* name) -> std::string {
    const auto found = run.step.inputs.find(name);
    if (found == run.step.inputs.end()) return {};
    auto bytes = run.context->store->texts().read(found->second);
    return bytes ? std::move(*bytes) : std::string{};
  };
  brief.request = text("prompt");
  brief.plan = text("plan");
  brief.problem = text("problem");
  brief.feedback = text("feedback");
  brief.review = text("review");
  std::vector<agents::Comment> comments;
  for (const auto& comment : run.task.comments)
    if (auto bytes = run.context->store->texts().read(comment.digest))
      comments.push_back({comment.writers, std::move(*bytes)});
  brief.comments = agents::commentsText(comments);
  if (run.trial) {
    plan.prompt = run.trial->prompt;
    return plan;
  }
  auto prompt = agents::renderPrompt(*run.settings.prompts, brief);
  if (!prompt) return std::unexpected(Error{ErrorCode::Internal, prompt.error()});
  plan.prompt = std::move(*prompt);
  return plan;
}

bool writes(const StepRun& run) {
  return run.step.role == model::Role::Writer || run.step.turn == model::TurnKind::SelfReview;
}

std::optional<std::uint64_t> budgetLeft(const StepRun& run) {
  if (run.task.budget == 0) return std::nullopt;
  const auto spent = static_cast<std::uint64_t>(std::max<std::int64_t>(run.task.usage.tokens(), 0));
  return run.task.budget - std::min(run.task.budget, spent);
}

SessionSpec sessionFor(const StepRun& run, const TurnPlan& plan, const std::string& checkout) {
  SessionSpec spec;
  spec.task = run.task.id;
  spec.owner = run.task.owner;
  spec.run = run.step.name;
  spec.uid = plan.uid;
  spec.checkout = checkout;
  if (writes(run))
    spec.layer = "ws-" + lower(plan.letter);
  else if (!run.step.candidate.empty())
    spec.layer = "ws-" + run.step.name;  // a fresh copy of the candidate for this reviewer, gone with the turn
  spec.directories = {homeFolder(plan), "out-" + run.step.name};
  if (run.trial) spec.directories.emplace_back(kTrialFolder);
  spec.temporary = {"out-" + run.step.name, "ws-" + run.step.name};
  if (plan.provider) {
    GatewayTerms terms;
    terms.request.add("base-url", plan.provider->baseUrl);
    for (const auto kind : plan.providerFile->kinds)
      terms.request.add("kind", agents::providerKindName(kind));
    terms.request.add("dummy-key", run.context->dummyKey(run.task.id, plan.letter));
    for (const auto& address : plan.providerFile->allowAddresses)
      terms.request.add("address", address);
    if (const auto left = budgetLeft(run)) terms.request.add("budget", *left);
    terms.credential = run.context->places.keys() + "/" + keyFile(plan.provider->id, plan.provider->baseUrl);
    spec.gateway = std::move(terms);
  }
  return spec;
}

bool beginsAtBase(const StepRun& run, const TurnPlan& plan) {
  if (run.step.candidate.empty()) return false;
  if (!writes(run)) return true;
  const auto known = run.task.conversations.find(plan.letter);
  return known == run.task.conversations.end() || known->second.turns == 0;
}

sandbox::AgentSpec agentSpec(const StepRun& run, const TurnPlan& plan, const Session& session,
                             const sandbox::Identity& identity, const std::string& in,
                             const std::pair<std::string, std::string>& outputs) {
  sandbox::AgentSpec spec;
  spec.sealed.name = run.step.name;
  spec.sealed.slice = boxSlice(run.task.owner, run.task.id);
  spec.sealed.identity = identity;
  spec.sealed.command = {{"/usr/libexec/cofferdam/coffer-init.static"}};
  spec.sealed.limits.runtimeUs = turnMicros(run);
  spec.sealed.in = in;
  spec.sealed.out = session.directory("out-" + run.step.name);
  if (!run.trial)
    spec.sealed.readOnly = {{run.context->places.projectObjects(run.project.id), "/store/base/objects"},
                            {run.context->places.taskObjects(run.task.id), "/store/task/objects"}};
  spec.sealed.standardOutput = outputs.first;
  spec.sealed.standardError = outputs.second;
  spec.namespacePath = session.namespacePath();
  spec.workspace = run.trial ? session.directory(kTrialFolder) : session.workspace();
  spec.workspaceReadOnly = !writes(run);
  spec.home = session.directory(homeFolder(plan));
  spec.agents = "/opt/agents";
  return spec;
}

}  // namespace coffer::engine
