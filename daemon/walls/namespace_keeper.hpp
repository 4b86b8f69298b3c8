#pragma once

#include <map>
#include <string>
#include <string_view>

#include "walls/fault.hpp"
#include "walls/fd_store.hpp"
#include "walls/network_namespace.hpp"
#include "walls/runtime_tree.hpp"

namespace coffer::walls {

/// The sandboxes' network namespaces by name: each pinned in the runtime directory, for whoever starts a unit in it,
/// and held with its listeners here and in the service manager's store.
class NamespaceKeeper {
 public:
  /// Takes the descriptors of an earlier process out of the store; a namespace of which only a part was kept is
  /// dropped.
  explicit NamespaceKeeper(FdStore& store);

  /// The namespace, made if there is none. The reference is good until the next call.
  Result<const NetworkNamespace*> create(const RuntimeTree& tree, const std::string& name);
  Result<void> remove(const RuntimeTree& tree, const std::string& name);
  /// NotFound when there is none of that name.
  [[nodiscard]] Result<const NetworkNamespace*> find(const std::string& name) const;

 private:
  std::map<std::string, NetworkNamespace> held_;
};

}  // namespace coffer::walls
