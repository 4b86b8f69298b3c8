#include "engine/agent_checks.hpp"

#include <algorithm>
#include <set>

namespace coffer::engine {
namespace {

// The fault of the file of that name, if it has one.
std::string faultOf(const AgentFiles& agents, const std::string& name) {
  for (const auto& problem : agents.problems())
    if (problem.contains("/" + name + ".toml:")) return problem;
  return {};
}

}  // namespace

Check agentCheck(const std::string& name, const AgentFiles& agents, const std::string& wanted) {
  const auto row = "agent-" + name;
  const auto by = wanted.empty() ? "" : ", wanted by " + wanted;
  const auto* descriptor = agents.find(name);
  if (!descriptor) {
    if (const auto fault = faultOf(agents, name); !fault.empty())
      return fails(row, "its file is broken" + by, "the file of the agent " + name + " does not count: " + fault,
                   "mend " + fault.substr(0, fault.find(':')) + ", then systemctl reload cofferd");
    return fails(row, "not known" + by, "there is no agent " + name + " on this machine",
                 "coffer agent list names those there are");
  }
  if (!agents::notInstalled(*descriptor)) return good(row, descriptor->title + " at " + descriptor->executable + by);
  if (wanted.empty()) return good(row, descriptor->title + " is not installed, and nobody asks for it");
  return fails(row, "not installed" + by,
               descriptor->title + " is not installed: " + descriptor->executable + " is not there",
               "install it, below /opt/agents with npm --prefix /opt/agents -g, or name another agent: coffer agent "
               "list");
}

bool serves(const agents::ProviderFile& file, const agents::Descriptor& agent) {
  return std::ranges::any_of(agent.providers, [&](auto kind) { return std::ranges::contains(file.kinds, kind); });
}

bool needsProvider(const agents::Descriptor& agent) {
  return !agent.providers.empty() && agent.providers.front() != agents::ProviderKind::None;
}

Check noProvider(const agents::Descriptor& agent, const ProviderFiles& files) {
  // The first that serves it is enough to go on with; the others are in the help.
  const auto found = std::ranges::find_if(files.all(), [&](const auto& entry) { return serves(entry.second, agent); });
  const auto kind = found == files.all().end() ? std::string("KIND") : found->first;
  return warns("agent-" + agent.name, agent.title + " at " + agent.executable,
               "there is no provider with a key for " + agent.title, "coffer provider add " + kind + " --kind " + kind);
}

Check providerCheck(const store::Provider& provider, const ProviderFiles& files) {
  const auto row = "provider-" + provider.name;
  if (!files.find(provider.kind))
    return fails(row, "of an unknown kind",
                 "nothing can be asked of the provider " + provider.name +
                     ", because there is no good file providers/" + provider.kind + ".toml",
                 "put it back into /etc/cofferdam/providers, then systemctl reload cofferd");
  if (!provider.hasKey)
    return warns(row, "no key for " + provider.baseUrl, "the provider " + provider.name + " has no key",
                 "coffer provider key " + provider.name);
  if (provider.machine && provider.users.empty() && provider.groups.empty())
    return warns(row, "nobody may spend it", "nobody may spend the machine's key of " + provider.name,
                 "coffer provider allow " + provider.name + " USER");
  return good(row, "a key for " + provider.baseUrl + " is stored; coffer agent test tries it");
}

std::vector<std::string> providerKinds(const ProviderFiles& files) {
  std::set<std::string> kinds;
  for (const auto& [name, file] : files.all()) {
    kinds.insert(name);
    for (const auto kind : file.kinds)
      kinds.emplace(agents::providerKindName(kind));
  }
  return {kinds.begin(), kinds.end()};
}

}  // namespace coffer::engine
