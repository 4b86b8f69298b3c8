// What concerns projects: adding one with its first snapshot, setting and removing it.

#include <algorithm>
#include <utility>

#include "agents/binding.hpp"
#include "dbus/names.hpp"
#include "engine/asked.hpp"
#include "engine/engine.hpp"
#include "engine/keep.hpp"
#include "engine/policy.hpp"
#include "engine/sandbox_needs.hpp"
#include "engine/snapshot.hpp"
#include "model/limits.hpp"
#include "model/spelling.hpp"
#include "os/beneath.hpp"
#include "os/halt_point.hpp"
#include "os/log.hpp"

namespace coffer::engine {
namespace {

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
  if (context_.obstacle) return done(std::unexpected(refusalOf(*context_.obstacle)));
  if (project.owner == 0)
    return done(std::unexpected(
        Error{ErrorCode::AccessDenied, "root owns no project: add it as the user whose repository it is"}));
  if (auto room = roomForProject(project.owner); !room) return done(std::unexpected(room.error()));
  if (const auto full = scheduler_->admission().full(project.owner)) return done(std::unexpected(refusedNow(*full)));
  addProjectNow(request, std::move(project), std::move(done));
}

std::expected<void, Error> Engine::roomForProject(std::uint32_t owner) const {
  const auto others = store_->projects().list(owner);
  if (!others) return std::unexpected(others.error());
  if (others->size() < limits::kProjectsOfUser) return {};
  return std::unexpected(
      Error{ErrorCode::Limit, "you have " + std::to_string(others->size()) +
                                  " projects, as many as one user may: coffer project remove one that you do not "
                                  "need"});
}

Detached Engine::addProjectNow(api::Request request, store::Project project, api::Done<std::uint64_t> done) {
  if (auto met = co_await needsMet(context_, configuration_.current().acceptMissing); !met) {
    done(std::unexpected(met.error()));
    co_return;
  }
  const auto made = once(request, "AddProject", [&]() -> std::expected<std::string, Error> {
    if (auto room = roomForProject(project.owner); !room) return std::unexpected(room.error());
    auto id = store_->projects().add(project);
    if (!id) return std::unexpected(id.error());
    if (auto whose = rememberOwner(project.owner); !whose) return std::unexpected(whose.error());
    return std::to_string(*id);
  });
  if (!made) {
    done(std::unexpected(made.error()));
    co_return;
  }
  project.id = Records::decimal(made->text);
  // The same call came twice before either was stored.
  if (made->again) {
    tellAdded(project.id, std::move(done));
    co_return;
  }
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
    // As it is now: its owner may have set something meanwhile.
    auto row = store_->projects().get(project.id);
    if (row) row->base = snapshot->commit;
    auto set = row ? store_->projects().set(*row) : std::unexpected(row.error());
    if (!set) snapshot = std::unexpected(set.error());
  }
  if (!snapshot) {
    if (abandonProject(project)) removeProjectFiles(project.id);
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

}  // namespace coffer::engine
