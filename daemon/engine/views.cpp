#include "engine/views.hpp"

#include <algorithm>

#include "api/backend.hpp"
#include "engine/places.hpp"
#include "model/actions.hpp"
#include "model/flow.hpp"
#include "model/spelling.hpp"

namespace coffer::engine {
namespace {

constexpr std::size_t kTitleBytes = 72;

std::uint64_t unsignedOf(std::int64_t value) { return value > 0 ? static_cast<std::uint64_t>(value) : 0; }

std::map<std::string, std::uint64_t> usageView(const model::Usage& usage) {
  return {{"input", unsignedOf(usage.input)},       {"cached", unsignedOf(usage.cached)},
          {"output", unsignedOf(usage.output)},     {"reasoning", unsignedOf(usage.reasoning)},
          {"requests", unsignedOf(usage.requests)}, {"wall-us", unsignedOf(usage.wallMicros)}};
}

}  // namespace

std::string titleOf(std::string_view prompt) {
  const auto first = prompt.find_first_not_of(" \t\r\n#");
  if (first == std::string_view::npos) return "(no title)";
  prompt.remove_prefix(first);
  prompt = prompt.substr(0, prompt.find_first_of("\r\n"));
  if (prompt.size() <= kTitleBytes) return std::string(prompt);
  std::size_t end = kTitleBytes - 3;
  while (end > 0 && (static_cast<unsigned char>(prompt[end]) & 0xc0U) == 0x80U)
    --end;
  return std::string(prompt.substr(0, end)) + "...";
}

api::TaskView taskView(const model::Task& task, const store::Project& project, const std::string& question,
                       const std::vector<store::Refusal>& refusals) {
  api::TaskView view;
  view.id = task.id;
  view.project = task.project;
  view.projectName = project.name;
  view.owner = project.disowned ? api::kNobody : task.owner;
  view.title = task.title;
  view.state = model::spell(task.state);
  view.parked = model::spell(task.parked.reason);
  const auto waiting = model::waiting(task);
  view.waiting = {waiting.code, waiting.words, waiting.until};
  view.flow = task.flow.name;
  for (const auto& [role, binding] : task.agents)
    view.agents.emplace(model::spell(role), binding);
  view.policy = {{"plan", std::string(model::spell(task.policy.plan))},
                 {"command", std::string(model::spell(task.policy.command))},
                 {"risky", std::string(model::spell(task.policy.risky))},
                 {"landing", std::string(model::spell(task.policy.landing))}};
  view.round = static_cast<std::uint32_t>(task.round);
  view.rounds = static_cast<std::uint32_t>(task.rounds);
  view.landingStyle = task.keepsCommits ? "merge" : "squash";
  view.base = task.base;
  view.baseBranch = task.branch;
  view.candidate = task.candidate;
  view.planDigest = task.plan;
  view.workDigest = task.workDigest;
  for (const auto& [what, digest] : model::pending(task))
    view.pending.emplace_back(what, digest);
  view.question = question;
  view.actions = model::actions(task);
  view.problem = {task.problem.code, task.problem.words};
  view.usage = usageView(task.usage);
  view.budget = task.budget;
  view.costMicro = task.usage.costMicro > 0 ? task.usage.costMicro : -1;
  for (const auto& refusal : refusals)
    view.refusals.emplace_back(refusal.role, refusal.protocol, refusal.address, refusal.name, refusal.port,
                               refusal.reason, refusal.count);
  view.slice = taskSlice(task.owner, task.id);
  view.created = task.created;
  view.changed = task.changed;
  view.sequence = task.sequence;
  view.deleted = task.deleted;
  for (const auto& landing : task.landed)
    view.landed.emplace_back(landing.commit, landing.branch, landing.where);
  return view;
}

api::ProjectView projectView(const store::Project& project) {
  api::ProjectView view;
  view.id = project.id;
  view.name = project.name;
  view.owner = project.disowned ? api::kNobody : project.owner;
  view.directory = project.directory;
  view.authorName = project.authorName;
  view.authorEmail = project.authorEmail;
  view.base = project.base;
  view.build = project.build;
  view.test = project.test;
  view.budget = project.budget;
  view.policy = project.policy;
  view.agents = project.agents;
  view.networks = project.networks;
  return view;
}

api::ProviderView providerView(const store::Provider& provider, const AccountNames& names) {
  api::ProviderView view;
  view.id = provider.id;
  view.name = provider.name;
  view.owner = provider.owner;
  view.machine = provider.machine;
  view.kind = provider.kind;
  view.baseUrl = provider.baseUrl;
  view.hasKey = provider.hasKey;
  view.keyHint = provider.keyHint;
  view.problem = provider.problem;
  if (provider.machine) view.spenders = names.of({provider.users, provider.groups});
  if (provider.machine && view.spenders.empty())
    view.problem = "nobody may spend it yet: coffer provider allow " + provider.name + " USER";
  if (!provider.hasKey) view.problem = "it has no key: coffer provider key " + provider.name + " sets one";
  return view;
}

api::EventView eventView(std::uint64_t task, const model::Event& event) {
  api::EventView view;
  view.sequence = event.sequence;
  view.task = task;
  view.time = event.at;
  view.type = event.type;
  for (const auto& [name, value] : event.payload) {
    if (const auto* text = std::get_if<std::string>(&value))
      view.fields.emplace(name, *text);
    else
      view.fields.emplace(name, std::get<std::int64_t>(value));
  }
  return view;
}

api::RunView runView(const store::Run& run) {
  api::RunView view;
  view.id = run.id;
  view.kind = run.start.kind;
  view.role = run.start.role;
  view.agent = run.start.agent;
  view.model = run.start.model;
  view.round = static_cast<std::uint32_t>(run.start.round);
  view.attempt = static_cast<std::uint32_t>(run.start.attempt);
  view.unit = run.start.unit + ".service";
  view.conversation = run.start.conversation;
  view.started = run.start.started;
  view.ended = run.end.ended;
  view.result = run.end.result;
  view.code = run.end.status;
  view.text = run.end.text;
  view.usage = usageView(run.end.usage);
  return view;
}

api::FindingView findingView(const store::Finding& finding) {
  api::FindingView view;
  view.id = finding.id;
  view.round = static_cast<std::uint32_t>(finding.round);
  view.source = finding.source;
  view.severity = finding.severity;
  view.blocking = finding.blocking;
  view.path = finding.path;
  view.line = finding.line;
  view.title = finding.title;
  view.text = finding.text;
  return view;
}

}  // namespace coffer::engine
