#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "os/fd.hpp"
#include "walls/fault.hpp"
#include "walls/request.hpp"

namespace coffer::walls {

/// The runtime directory with a folder per kind of mount. What is mounted there is the only record of what exists, so a
/// restarted program finds everything. Names are valid ones; all opens are below descriptors of these root-owned
/// folders.
class RuntimeTree {
 public:
  /// `base` is root's and exists; the folders are made.
  static Result<RuntimeTree> open(const std::string& base);

  /// True when something is mounted at the name.
  [[nodiscard]] bool mounted(Kind kind, std::string_view name) const;
  /// The root directory of what is mounted there (O_RDONLY). NotFound when nothing is.
  [[nodiscard]] Result<Fd> openMounted(Kind kind, std::string_view name) const;
  /// Attaches a detached mount at the name, where nothing is mounted.
  Result<void> attach(Kind kind, std::string_view name, int mount) const;
  /// Unmounts and removes the mount point; nothing mounted is success. `lazily`: out of sight at once, whoever holds
  /// it. Otherwise Busy when somebody still holds it after limits::kUnmountWait.
  Result<void> detach(Kind kind, std::string_view name, bool lazily) const;
  [[nodiscard]] Result<std::vector<std::string>> list(Kind kind) const;

  /// Attaches a mount for as long as `work` takes: an overlay wants its layers attached (before Linux 6.15), afterwards
  /// it has clones of its own.
  template <class Work>
  auto whileAttached(std::string_view name, int mount, Work work) const -> decltype(work()) {
    if (auto attached = attachIn(passing_, name, mount); !attached) return std::unexpected(attached.error());
    auto result = work();
    if (auto detached = detachIn(passing_, name, true); !detached && result) return std::unexpected(detached.error());
    return result;
  }

 private:
  RuntimeTree() = default;
  [[nodiscard]] const Fd& folder(Kind kind) const;
  static Result<void> attachIn(const Fd& folder, std::string_view name, int mount);
  static Result<void> detachIn(const Fd& folder, std::string_view name, bool lazily);

  Fd netns_, images_, workspaces_, sources_, passing_;
};

}  // namespace coffer::walls
