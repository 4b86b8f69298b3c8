// What the engine says of the machine it runs on.

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "engine/accounts.hpp"
#include "engine/agent_checks.hpp"
#include "engine/choice.hpp"
#include "engine/engine.hpp"
#include "engine/machine_checks.hpp"
#include "engine/views.hpp"

namespace coffer::engine {
namespace {

constexpr const char* word(CheckState state) {
  switch (state) {
    case CheckState::Ok:
      return "ok";
    case CheckState::Warning:
      return "warning";
    case CheckState::Failed:
      return "failed";
  }
  return "failed";
}

bool maySpend(const store::Provider& provider, std::uint32_t uid, const std::vector<gid_t>& groups) {
  return provider.hasKey && (!provider.machine || holds({provider.users, provider.groups}, uid, groups));
}

}  // namespace

std::vector<std::string> Engine::configurationProblems() const {
  std::vector<std::string> problems;
  if (!configuration_.problem().empty()) problems.push_back(configuration_.problem());
  for (const auto* list :
       {&agents_.problems(), &flows_.problems(), &providers_.problems(), &prompts_.problems(), &risky_.problems()})
    problems.insert(problems.end(), list->begin(), list->end());
  return problems;
}

std::vector<Check> Engine::checksOf(const api::Caller& caller, const std::vector<gid_t>& groups) const {
  std::vector<Check> checks;
  // Who asks for which agent: the machine's file, and the caller's projects.
  std::map<std::string, std::string> wanted;
  for (const auto& [role, binding] : configuration_.current().roles)
    if (!binding.agent.empty()) wanted.emplace(binding.agent, "cofferd.toml");
  if (const auto projects = store_->projects().list(caller.uid))
    for (const auto& project : *projects)
      for (const auto& [role, text] : project.agents)
        if (const auto binding = agents::Binding::parse(text))
          wanted.emplace(binding->agent, "the project " + project.name);
  const auto providers =
      caller.uid == 0 ? std::expected<std::vector<store::Provider>, Error>{} : store_->providers().list(caller.uid);
  std::size_t usable = 0;
  auto names = wanted;
  for (const auto& [name, descriptor] : agents_.all())
    names.emplace(name, "");
  for (const auto& [name, by] : names) {
    auto check = agentCheck(name, agents_, by);
    const auto* descriptor = agents_.find(name);
    const bool there = descriptor && !agents::notInstalled(*descriptor);
    if (there) ++usable;
    // Root works with no agent, so it needs no key.
    if (there && caller.uid != 0 && needsProvider(*descriptor) && providers &&
        std::ranges::none_of(*providers, [&](const auto& provider) {
          const auto* file = providers_.find(provider.kind);
          return file && serves(*file, *descriptor) && maySpend(provider, caller.uid, groups);
        }))
      check = noProvider(*descriptor, providers_);
    checks.push_back(std::move(check));
  }
  if (usable == 0)
    checks.push_back(fails("agents", "none installed", "no agent is installed, so no task can be worked on",
                           "npm install --prefix /opt/agents -g @openai/codex, or another of coffer agent list"));
  if (providers)
    for (const auto& provider : *providers)
      checks.push_back(providerCheck(provider, providers_));
  const auto limits = scheduler_->admissionLimits();
  const auto disk = diskSpace(context_.places);
  checks.push_back(diskCheck(disk, limits));
  if (caller.uid != 0) checks.push_back(shareCheck(disk, scheduler_->userSpace(caller.uid), limits));
  return checks;
}

void Engine::checkSystem(const api::Caller& caller, api::Done<std::vector<api::CheckView>> done) {
  checkSystemNow(caller, std::move(done));
}

Detached Engine::checkSystemNow(api::Caller caller, api::Done<std::vector<api::CheckView>> done) {
  auto checks = co_await systemCheck_->look(caller.uid);
  if (!checks) {
    done(std::unexpected(checks.error()));
    co_return;
  }
  // A name service that does not answer is a row of its own; who is in a group meanwhile counts as not in it.
  const auto groups = co_await spendingGroups(context_, caller.uid);
  std::ranges::move(checksOf(caller, groups.value_or(std::vector<gid_t>{})), std::back_inserter(*checks));
  if (!groups) checks->push_back(fails("users", "no answer", groups.error().message, "getent group"));
  std::vector<api::CheckView> views;
  for (auto& check : *checks)
    views.push_back({std::move(check.name), word(check.state), std::move(check.found), std::move(check.problem),
                     std::move(check.remedy)});
  done(std::move(views));
}

}  // namespace coffer::engine
