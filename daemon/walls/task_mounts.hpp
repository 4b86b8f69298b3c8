#pragma once

#include <optional>
#include <string>

#include "walls/fault.hpp"
#include "walls/runtime_tree.hpp"
#include "walls/user_namespace.hpp"

namespace coffer::walls {

/// Where a workspace's changes go: a directory of a mounted image.
struct LayerPlace {
  std::string image;
  std::string directory;
};

/// The mounts of tasks, each found again by its name below the runtime directory.
class TaskMounts {
 public:
  explicit TaskMounts(RuntimeTree tree) : tree_(std::move(tree)) {}

  Result<void> mountImage(const std::string& name, int image, bool noExec) const;
  /// `lower` is owned by map.fromUid:fromGid. Without a layer it appears read-only.
  Result<void> mountWorkspace(const std::string& name, int lower, const OwnerMap& map,
                              const std::optional<LayerPlace>& layer, bool readOnly) const;
  Result<void> attachSource(const std::string& name, int directory, bool writable,
                            const std::optional<OwnerMap>& map) const;

  Result<void> makeDirectory(const std::string& image, const std::string& name, std::uint32_t uid) const;
  Result<bool> removeDirectory(const std::string& image, const std::string& name) const;

  [[nodiscard]] const RuntimeTree& tree() const { return tree_; }

 private:
  /// Refuses another mount of a kind that has its limit.
  [[nodiscard]] Result<void> room(Kind kind) const;
  RuntimeTree tree_;
};

}  // namespace coffer::walls
