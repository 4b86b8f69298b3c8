#include "engine/choice.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "agents/turn_command.hpp"
#include "engine/accounts.hpp"
#include "engine/agent_checks.hpp"

namespace coffer::engine {
namespace {

// The machine's key is spent by whom its list names; the list is empty at first.
bool maySpend(const store::Provider& provider, std::uint32_t owner, const std::vector<gid_t>& groups) {
  return !provider.machine || holds({provider.users, provider.groups}, owner, groups);
}

std::expected<void, Error> chooseProvider(store::Store& store, const agents::DataSet<agents::ProviderFile>& files,
                                          std::uint32_t owner, const std::vector<gid_t>& groups, Choice& choice) {
  auto providers = store.providers().list(owner);
  if (!providers) return std::unexpected(providers.error());
  // Their own come before the machine's.
  std::ranges::stable_sort(*providers, {}, [](const store::Provider& provider) { return provider.machine; });
  std::string notTheirs;
  for (const auto& provider : *providers) {
    if (!choice.binding.provider.empty() && provider.name != choice.binding.provider) continue;
    const auto* file = files.find(provider.kind);
    if (!file || !serves(*file, choice.descriptor)) continue;
    if (!provider.hasKey) continue;
    if (!maySpend(provider, owner, groups)) {
      notTheirs = provider.name;
      continue;
    }
    choice.provider = provider;
    choice.providerFile = *file;
    return {};
  }
  if (!notTheirs.empty())
    return std::unexpected(Error{ErrorCode::NoProvider, "the key of " + notTheirs +
                                                            " is the machine's, and its owner is not among those who "
                                                            "may spend it: an administrator adds a user with coffer "
                                                            "provider allow"});
  if (!choice.binding.provider.empty())
    return std::unexpected(Error{ErrorCode::NoProvider, "the provider " + choice.binding.provider +
                                                            " is not there, has no key, or cannot serve " +
                                                            choice.descriptor.title + ": coffer provider list"});
  return std::unexpected(refusalOf(noProvider(choice.descriptor, files), ErrorCode::NoProvider));
}

}  // namespace

Async<std::expected<std::vector<gid_t>, Error>> spendingGroups(Context& context, std::uint32_t user) {
  const auto providers = context.store->providers().list(user);
  if (!providers) co_return std::unexpected(providers.error());
  const auto isForGroups = [](const store::Provider& each) {
    return each.machine && each.hasKey && !each.groups.empty();
  };
  if (std::ranges::none_of(*providers, isForGroups)) co_return std::vector<gid_t>{};
  std::function<std::vector<gid_t>()> question = [user] { return groupsOf(user); };
  co_return co_await context.names->ask(std::move(question));
}

std::expected<Choice, Error> choose(store::Store& store, const agents::DataSet<agents::Descriptor>& agents,
                                    const agents::DataSet<agents::ProviderFile>& providers, std::uint32_t owner,
                                    const std::vector<gid_t>& groups, const std::string& binding, bool began) {
  auto parsed = agents::Binding::parse(binding);
  if (!parsed) return std::unexpected(Error{ErrorCode::NoAgent, parsed.error()});
  Choice choice;
  choice.binding = std::move(*parsed);
  const auto* known = agents.find(choice.binding.agent);
  if (!known)
    return std::unexpected(refusalOf(agentCheck(choice.binding.agent, agents, "this task"), ErrorCode::NoAgent));
  choice.descriptor = *known;
  if (auto named = agents::checkModel(choice.descriptor, choice.binding.model); !named)
    return std::unexpected(named.error());
  if (!needsProvider(choice.descriptor)) return choice;
  if (auto chosen = chooseProvider(store, providers, owner, groups, choice); !chosen && !began)
    return std::unexpected(chosen.error());
  return choice;
}

std::vector<std::string> installedAgents(const agents::DataSet<agents::Descriptor>& agents) {
  std::vector<std::string> names;
  for (const auto& [name, descriptor] : agents.all())
    if (!agents::notInstalled(descriptor)) names.push_back(name);
  return names;
}

std::expected<std::string, Error> onlyAgent(const agents::DataSet<agents::Descriptor>& agents,
                                            const std::string& role) {
  const auto installed = installedAgents(agents);
  if (installed.size() == 1) return installed.front();
  std::string names;
  for (const auto& name : installed)
    names += (names.empty() ? "" : ", ") + name;
  if (installed.empty())
    return std::unexpected(
        Error{ErrorCode::NoAgent, "no agent is installed, so nobody can be the " + role +
                                      ": install one where its descriptor looks for it (coffer agent list)"});
  return std::unexpected(Error{ErrorCode::NoAgent, "no agent is chosen for the " + role + ", and " + names +
                                                       " are installed: coffer new --agent " + role + "=" +
                                                       installed.front() + ", or coffer project set --agent " + role +
                                                       "=" + installed.front()});
}

}  // namespace coffer::engine
