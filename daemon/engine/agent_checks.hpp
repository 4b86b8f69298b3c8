#pragma once

#include <string>

#include "agents/data_set.hpp"
#include "agents/descriptor.hpp"
#include "agents/provider_file.hpp"
#include "engine/check.hpp"
#include "store/providers.hpp"

namespace coffer::engine {

using AgentFiles = agents::DataSet<agents::Descriptor>;
using ProviderFiles = agents::DataSet<agents::ProviderFile>;

/// Whether an agent of that name can be started: its file is there and good, and so is its program. `wanted`: who names
/// it ("cofferd.toml", "the project zlib"), or empty; what nobody wants may be missing.
Check agentCheck(const std::string& name, const AgentFiles& agents, const std::string& wanted);

/// That nobody's key serves this agent.
Check noProvider(const agents::Descriptor& agent, const ProviderFiles& files);

/// Whether requests can be sent with what this provider has. That they are answered is for `coffer agent test`.
Check providerCheck(const store::Provider& provider, const ProviderFiles& files);

/// Whether one of this provider's protocols is one of the agent's.
bool serves(const agents::ProviderFile& file, const agents::Descriptor& agent);
bool needsProvider(const agents::Descriptor& agent);

/// What `coffer provider add --kind` takes, sorted: the files' names, and the protocols that one of them serves.
std::vector<std::string> providerKinds(const ProviderFiles& files);

}  // namespace coffer::engine
