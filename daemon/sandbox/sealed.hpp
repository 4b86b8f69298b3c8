#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sandbox/unit.hpp"

namespace coffer::sandbox {

/// The root that every sealed unit starts from: ours, read-only, complete, so that PID 1 never has to make a mount
/// point in it.
inline constexpr const char* kSkeleton = "/usr/lib/cofferdam/skeleton";

/// Who a unit runs as. The name is one of ours, announced in /run/userdb.
struct Identity {
  std::uint32_t uid = 0;
  std::string user;
};

/// What is bounded on the unit itself; the limits of the whole task are on its slice. 0 leaves a limit away.
struct UnitLimits {
  std::uint64_t memoryBytes = 0;
  std::uint64_t tasks = 0;
  std::uint64_t runtimeUs = 0;
  std::uint64_t fileBytes = 0;  ///< largest file it may write (RLIMIT_FSIZE)
};

/// What every sealed unit has in common.
struct SealedSpec {
  std::string name;   ///< without ".service"
  std::string slice;  ///< with ".slice"
  Identity identity;
  Command command;
  UnitLimits limits;
  std::string in;   ///< directory of ours shown read-only
  std::string out;  ///< directory of the unit's uid, writable; empty when it has none
  std::vector<Bind> readOnly;
  std::vector<Bind> writable;
  /// Paths inside that are read-only although what they lie in is writable; one that is not there is passed over.
  std::vector<std::string> locked;
  /// Paths inside that are writable and mounts of their own, so that nobody can rename them, with what is locked below
  /// them; one that is not there is passed over.
  std::vector<std::string> pinned;
  std::vector<PassedFd> fds;
  std::string standardOutput;  ///< file to append to; empty: the journal
  std::string standardError;
};

/// An agent's turn or a command of the gate: network namespace made by coffer-walls, repository at /src, exchange at
/// /task.
struct AgentSpec {
  SealedSpec sealed;  ///< `in` is shown at /task/in, `out` at /task/out
  std::string namespacePath;
  std::string workspace;  ///< mount shown at /src
  bool workspaceReadOnly = false;
  std::string home;    ///< shown at /home/agent
  std::string agents;  ///< shown at /opt/agents; empty: none
};

Unit agentUnit(const AgentSpec& spec);

/// A worker: one input at /in, one output at /out, no network, no secrets.
Unit workerUnit(const SealedSpec& spec);

/// The same sealed as the owner of a repository: for the snapshot (repository read-only) and the landing (writable).
Unit ownerUnit(const SealedSpec& spec);

/// The gateway: the host's network, bounded by the host table through its uid; the key as an encrypted credential.
struct GatewaySpec {
  SealedSpec sealed;
  std::string credential;  ///< encrypted file of ours; empty: the provider needs none
};
Unit gatewayUnit(const GatewaySpec& spec);

/// The resolver that answers inside a sandbox: two sockets and no network at all.
Unit resolverUnit(const SealedSpec& spec);

/// Opens one directory as its owner and hands the descriptor back over the socket it gets; it must stay in the host's
/// mount namespace, because a mount of another namespace cannot be cloned.
Unit openerUnit(const std::string& name, const std::string& slice, std::uint32_t uid, PassedFd socket);

/// What a slice of a task may use in all. 0 leaves a limit away.
struct SliceLimits {
  std::uint64_t memoryBytes = 0;
  std::uint64_t tasks = 0;
};
std::vector<Property> sliceProperties(const SliceLimits& limits);

}  // namespace coffer::sandbox
