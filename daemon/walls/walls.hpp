#pragma once

#include <string>
#include <vector>

#include "os/fd.hpp"
#include "walls/fault.hpp"
#include "walls/fd_store.hpp"
#include "walls/host_table.hpp"
#include "walls/namespace_keeper.hpp"
#include "walls/request.hpp"
#include "walls/task_mounts.hpp"

namespace coffer::walls {

struct Answer {
  Reply reply;
  std::vector<Fd> fds;
};

/// Does what requests say, after checking every field of them. Nothing in a request is trusted to be well-formed.
class Walls {
 public:
  /// `base` is the runtime directory (root's, existing). Opening the host table needs this to run in the host's network
  /// namespace.
  static Result<Walls> open(const std::string& base, FdStore& store);

  /// For the removal of the package, when no process of ours runs and nobody keeps our descriptors: takes away every
  /// mount below `base` and the host table. What could not be is left, and told; the rest goes all the same.
  static Result<void> takeDown(const std::string& base);

  /// `fd` is what came with the request, or none. Not for two threads at once, except for a verb that isSlow().
  Answer perform(const Request& request, const Fd& fd);

  /// Verbs that may write back what is dirty before they end, and touch nothing but their own mount: they may run
  /// beside others, if nothing else with the same name runs.
  static bool isSlow(Verb verb) { return verb == Verb::ImageUnmount || verb == Verb::WorkspaceUnmount; }

  [[nodiscard]] const HostTable& hostTable() const { return hostTable_; }

 private:
  struct Done {
    std::uint32_t value = 0;
    std::vector<Fd> fds;
  };
  Walls(TaskMounts mounts, NamespaceKeeper namespaces, HostTable hostTable)
      : mounts_(std::move(mounts)), namespaces_(std::move(namespaces)), hostTable_(std::move(hostTable)) {}

  Result<Done> dispatch(const Request& request, const Fd& fd);
  Result<void> probe(std::uint32_t what);
  Result<Done> list() const;
  static Result<Done> openState();
  Result<Done> createNetns(const Request& request);
  Result<Done> refusals(const Request& request) const;
  Result<void> mountWorkspace(const Request& request, int lower) const;
  Result<void> attachSource(const Request& request, int directory) const;
  Result<void> replaceHostSet(const Request& request, int entries);

  TaskMounts mounts_;
  NamespaceKeeper namespaces_;
  HostTable hostTable_;
};

}  // namespace coffer::walls
