#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "agents/binding.hpp"
#include "agents/data_set.hpp"
#include "agents/descriptor.hpp"
#include "agents/provider_file.hpp"
#include "dbus/error.hpp"
#include "engine/context.hpp"
#include "os/async.hpp"
#include "store/store.hpp"

namespace coffer::engine {

/// Who plays a role for a user, on which model, and whose key is spent on it; copies, because a turn outlives a reload.
struct Choice {
  agents::Binding binding;
  agents::Descriptor descriptor;
  std::optional<store::Provider> provider;  ///< none for an agent that needs no model
  std::optional<agents::ProviderFile> providerFile;
};

/// The groups of a user who may spend a key of the machine's as a member of one; nobody is asked, and there are none,
/// where no such key is given to groups. Errors: those of NameService.
Async<std::expected<std::vector<gid_t>, Error>> spendingGroups(Context& context, std::uint32_t user);

/// What `binding` comes to for a task of `owner`, who is in `groups`, now: looked up when a task is made and again at
/// each turn. `began`: the turn runs already, and a provider that is gone since is none. Errors: NoAgent, NoProvider,
/// and InvalidArgument for an agent that cannot do without a model's name.
std::expected<Choice, Error> choose(store::Store& store, const agents::DataSet<agents::Descriptor>& agents,
                                    const agents::DataSet<agents::ProviderFile>& providers, std::uint32_t owner,
                                    const std::vector<gid_t>& groups, const std::string& binding, bool began = false);

/// The names of the agents whose program is on this machine.
std::vector<std::string> installedAgents(const agents::DataSet<agents::Descriptor>& agents);

/// The agent for a role that nobody named one for: the only one that is installed. NoAgent where there are several, or
/// none, with what to do.
std::expected<std::string, Error> onlyAgent(const agents::DataSet<agents::Descriptor>& agents, const std::string& role);

}  // namespace coffer::engine
