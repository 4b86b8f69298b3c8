// The reading half of the engine: what the bus asks is answered from the store.

#include <algorithm>
#include <map>

#include <fcntl.h>
#include <sys/stat.h>

#include "engine/agent_checks.hpp"
#include "engine/engine.hpp"
#include "engine/sandbox_needs.hpp"
#include "engine/views.hpp"
#include "model/actions.hpp"
#include "model/digest.hpp"
#include "model/limits.hpp"
#include "model/spelling.hpp"
#include "os/beneath.hpp"

namespace coffer::engine {
namespace {

std::unexpected<Error> none(const std::string& what) {
  return std::unexpected(Error{ErrorCode::NotFound, "there is no " + what + " yet"});
}

std::expected<api::Content, Error> fileContent(const std::string& directory, const std::string& name,
                                               std::string digest) {
  auto opened = os::openDirectory(directory);
  if (!opened) return std::unexpected(opened.error());
  if (digest.empty()) {
    auto bytes = os::readBeneath(opened->get(), name, limits::kLogShownBytes);
    if (!bytes) return std::unexpected(bytes.error());
    digest = model::sha256(*bytes);
    return api::Content{std::move(*bytes), std::move(digest)};
  }
  auto file = os::openBeneath(opened->get(), name, O_RDONLY);
  if (!file) return std::unexpected(file.error());
  return api::Content{std::move(*file), std::move(digest)};
}

// What a unit has printed so far, as it is: handed on, never looked into.
std::expected<api::Content, Error> growing(const std::string& directory, const std::string& unit) {
  auto opened = os::openDirectory(directory);
  if (!opened) return std::unexpected(opened.error());
  auto file = os::openBeneath(opened->get(), unit + ".out", O_RDONLY);
  if (!file) return std::unexpected(file.error());
  return api::Content{std::move(*file), {}};
}

}  // namespace

// A task whose project cannot be read is nobody's rather than anybody's.
uid_t Engine::ownerOf(const model::Task& task) const {
  const auto disowned = store_->projects().isDisowned(task.project);
  return disowned && !*disowned ? task.owner : api::kNobody;
}

std::optional<api::Ownership> Engine::owner(api::ObjectKind kind, std::uint64_t id) const {
  switch (kind) {
    case api::ObjectKind::Task: {
      const auto task = store_->tasks().get(id);
      if (!task || task->deleted) return std::nullopt;
      return api::Ownership{ownerOf(*task), false};
    }
    case api::ObjectKind::Project: {
      const auto project = store_->projects().get(id);
      if (!project || project->removed) return std::nullopt;
      return api::Ownership{project->disowned ? api::kNobody : project->owner, false};
    }
    case api::ObjectKind::Provider: {
      const auto provider = store_->providers().get(id);
      if (!provider) return std::nullopt;
      return api::Ownership{provider->owner, provider->machine};
    }
  }
  return std::nullopt;
}

std::optional<api::Ownership> Engine::formerOwner(api::ObjectKind kind, std::uint64_t id) const {
  if (kind == api::ObjectKind::Task) {
    if (const auto task = store_->tasks().get(id)) return api::Ownership{ownerOf(*task), false};
  } else if (kind == api::ObjectKind::Project) {
    if (const auto project = store_->projects().get(id))
      return api::Ownership{project->disowned ? api::kNobody : project->owner, false};
  } else if (const auto provider = store_->providers().former(id)) {
    return api::Ownership{provider->owner, provider->machine};
  }
  return std::nullopt;
}

std::vector<std::uint64_t> Engine::objects(api::ObjectKind kind, std::optional<uid_t> uid) const {
  std::vector<std::uint64_t> ids;
  if (kind == api::ObjectKind::Task) {
    store::TaskFilter filter;
    filter.owner = uid;
    filter.ended = false;
    if (const auto rows = store_->tasks().list(filter, 0, limits::kLiveObjects))
      for (const auto& row : *rows)
        ids.push_back(row.id);
  }
  if (kind == api::ObjectKind::Project) {
    if (const auto projects = store_->projects().list(uid))
      for (const auto& project : *projects)
        ids.push_back(project.id);
  }
  if (kind == api::ObjectKind::Provider) {
    if (const auto providers = store_->providers().list(uid))
      for (const auto& provider : *providers)
        ids.push_back(provider.id);
  }
  return ids;
}

api::ManagerView Engine::manager(const api::Caller& caller) const {
  api::ManagerView view;
  view.backends = {"service"};
  api::Strings flows;
  for (const auto& [name, flow] : flows_.all())
    flows.push_back(name);
  view.features.emplace("flows", std::move(flows));
  view.features.emplace("provider-kinds", providerKinds(providers_));
  view.features.emplace("missing-controllers", missingControllers());
  view.features.emplace("accepted-missing", configuration_.current().acceptMissing);
  const auto whose = caller.administrator ? std::nullopt : std::optional<uid_t>(caller.uid);
  if (store_) {
    store::TaskFilter filter;
    filter.owner = whose;
    filter.ended = false;
    if (const auto rows = store_->tasks().list(filter, 0, limits::kLiveObjects)) {
      for (const auto& row : *rows) {
        if (row.needsPerson)
          ++view.waiting;
        else if (row.parked.empty() && !(scheduler_ && scheduler_->waiting(row.id)))
          ++view.running;
      }
    }
  }
  view.configurationProblems = configurationProblems();
  return view;
}

std::expected<api::TaskView, Error> Engine::task(std::uint64_t id) const {
  const auto task = store_->tasks().get(id);
  if (!task) return std::unexpected(task.error());
  const auto project = store_->projects().get(task->project);
  std::string question;
  if (!task->question.empty())
    if (auto text = store_->texts().read(task->question)) question = std::move(*text);
  const auto refusals = store_->refusals().ofTask(id);
  auto view = taskView(*task, project ? *project : store::Project{}, question,
                       refusals ? *refusals : std::vector<store::Refusal>{});
  // A step that is open may still wait for what the machine has too little of just now.
  if (const auto waits = scheduler_ ? scheduler_->waiting(id) : std::nullopt;
      waits && std::get<0>(view.waiting).empty())
    view.waiting = {waits->code, waits->words, waits->until};
  return view;
}

std::expected<api::ProjectView, Error> Engine::project(std::uint64_t id) const {
  const auto project = store_->projects().get(id);
  if (!project) return std::unexpected(project.error());
  auto view = projectView(*project);
  view.rounds = project->rounds.value_or(static_cast<std::uint32_t>(configuration_.current().rounds));
  return view;
}

std::expected<api::ProviderView, Error> Engine::provider(std::uint64_t id) const {
  const auto provider = store_->providers().get(id);
  if (!provider) return std::unexpected(provider.error());
  return providerView(*provider, accountNames_);
}

std::vector<api::AgentView> Engine::agents(const api::Caller& caller) const {
  std::map<std::string, std::uint32_t> running;
  if (store_) {
    store::TaskFilter filter;
    if (caller.uid != 0) filter.owner = caller.uid;
    filter.ended = false;
    const auto rows = store_->tasks().list(filter, 0, limits::kLiveObjects);
    for (const auto& row : rows.value_or(std::vector<store::TaskRow>{})) {
      if (!row.parked.empty() || row.needsPerson) continue;
      const auto runs = store_->runs().ofTask(row.id);
      for (const auto& run : runs.value_or(std::vector<store::Run>{}))
        if (run.start.kind == "turn" && run.end.ended == 0) ++running[run.start.agent];
    }
  }
  std::vector<api::AgentView> list;
  for (const auto& [name, descriptor] : agents_.all()) {
    api::AgentView view;
    view.name = name;
    view.executable = descriptor.executable;
    for (const auto kind : descriptor.providers)
      view.protocol.append(view.protocol.empty() ? "" : ", ").append(agents::providerKindName(kind));
    view.running = running[name];
    auto missing = agents::notInstalled(descriptor);
    view.installed = !missing;
    view.problem = std::move(missing).value_or("");
    list.push_back(std::move(view));
  }
  return list;
}

std::optional<std::uint64_t> Engine::projectByName(uid_t uid, const std::string& name) const {
  const auto id = store_->projects().byName(uid, name);
  return id ? *id : std::nullopt;
}

std::expected<api::TaskPage, Error> Engine::listTasks(const api::Caller& caller, const api::TaskFilter& filter,
                                                      std::uint64_t cursor, std::uint32_t limit) const {
  store::TaskFilter asked;
  if (!filter.allUsers) asked.owner = caller.uid;
  asked.project = filter.project;
  for (const auto& word : filter.states) {
    if (!model::parse<model::State>(word))
      return std::unexpected(Error{ErrorCode::InvalidArgument, word + " is no state of a task"});
    asked.states.push_back(word);
  }
  asked.ended = filter.ended;
  asked.needsPerson = filter.waiting;
  asked.deleted = filter.deleted;
  const auto rows = store_->tasks().list(asked, cursor, limit);
  if (!rows) return std::unexpected(rows.error());
  api::TaskPage page;
  for (const auto& row : *rows)
    if (auto view = task(row.id)) page.tasks.push_back(std::move(*view));
  if (rows->size() == limit) page.next = rows->back().id;
  return page;
}

std::expected<std::vector<api::EventView>, Error> Engine::listEvents(const api::Caller& caller,
                                                                     const api::EventFilter& filter,
                                                                     std::uint64_t after, std::uint32_t limit) const {
  // One task may be somebody else's, if an administrator named it.
  const bool others = filter.allUsers || (filter.task && caller.administrator);
  const auto owner = others ? std::nullopt : std::optional<std::uint32_t>(caller.uid);
  const auto events = store_->tasks().events(after, limit, owner, filter.task);
  if (!events) return std::unexpected(events.error());
  std::vector<api::EventView> result;
  for (const auto& stored : *events)
    result.push_back(eventView(stored.task, stored.event));
  return result;
}

std::expected<std::vector<api::RunView>, Error> Engine::listRuns(std::uint64_t task) const {
  std::vector<api::RunView> result;
  const auto runs = store_->runs().ofTask(task);
  if (!runs) return std::unexpected(runs.error());
  for (const auto& run : *runs)
    result.push_back(runView(run));
  return result;
}

std::expected<std::vector<api::FindingView>, Error> Engine::listFindings(std::uint64_t task) const {
  std::vector<api::FindingView> result;
  const auto findings = store_->findings().ofTask(task);
  if (!findings) return std::unexpected(findings.error());
  for (const auto& finding : *findings)
    result.push_back(findingView(finding));
  return result;
}

std::expected<api::Content, Error> Engine::text(std::uint64_t id, const std::string& what,
                                                std::optional<std::uint64_t> run) const {
  const auto task = store_->tasks().get(id);
  if (!task) return std::unexpected(task.error());
  const auto stored = [&](const std::string& digest) -> std::expected<api::Content, Error> {
    if (digest.empty()) return none(what);
    auto bytes = store_->texts().read(digest);
    if (!bytes) return std::unexpected(bytes.error());
    return api::Content{std::move(*bytes), digest};
  };
  if (what == "prompt") return stored(task->prompt);
  if (what == "plan") return stored(task->plan);
  if (what == "question") return stored(task->question);
  if (what == "review") return stored(task->review.digest);
  if (what == "left-out") {
    // Nothing is left out, which is known once there is a commit.
    if (task->notIn.empty() && !task->base.empty()) return api::Content{std::string{}, model::sha256({})};
    return stored(task->notIn);
  }
  if (what == "answer") {
    const auto last = std::ranges::find_if(task->comments.rbegin(), task->comments.rend(),
                                           [](const model::Comment& comment) { return comment.writers; });
    return stored(last == task->comments.rend() ? std::string{} : last->digest);
  }
  if (what == "diff") {
    if (task->candidate.empty() || task->workDigest.empty()) return none(what);
    return fileContent(context_.places.diffs(id), task->candidate, task->workDigest);
  }
  // The newest run that left one, or the run that was named.
  const bool gate = what == "gate";
  const auto runs = store_->runs().ofTask(id);
  if (!runs) return std::unexpected(runs.error());
  for (auto it = runs->rbegin(); it != runs->rend(); ++it) {
    const bool ofGate = it->start.kind == "gate";
    if (run && it->id != *run) continue;
    if (!run && what != "log" && ofGate != gate) continue;
    if (what == "log" && it->end.ended == 0) return growing(context_.places.image(outputImage(id)), it->start.unit);
    const auto directory = ofGate ? context_.places.logs(id) : context_.places.transcripts(id);
    auto content = fileContent(directory, it->start.step, {});
    if (content || content.error().code != ErrorCode::NotFound) return content;
  }
  return none(what);
}

}  // namespace coffer::engine
