#include "sandbox/sealed.hpp"

#include <utility>

#include "dbus/names.hpp"
#include "model/limits.hpp"

namespace coffer::sandbox {
namespace {

using Strings = std::vector<std::string>;

// An agent without a SIGTERM handler ignores it as PID 1 of its namespace; our init forwards it, and what then still
// runs is killed after this.
constexpr std::uint64_t kStopTimeoutUs = 5'000'000;

void sealProcess(Unit& unit) {
  unit.set("NoNewPrivileges", true);
  unit.set("CapabilityBoundingSet", std::uint64_t{0});
  unit.set("AmbientCapabilities", std::uint64_t{0});
  unit.set("LockPersonality", true);
  unit.set("RestrictRealtime", true);
  unit.set("RestrictNamespaces", std::uint64_t{0});
  unit.set("KeyringMode", "private");
  unit.set("RemoveIPC", true);
  unit.set("UMask", std::uint32_t{0077});
  unit.set("SystemCallArchitectures", Strings{"native"});
  unit.set("SystemCallErrorNumber", std::int32_t{1});  // EPERM
  unit.set("SystemCallFilter", Filter{true, {"@system-service"}});
  // What @system-service allows and a sandbox must not reach; each is probed by a test.
  unit.set("SystemCallFilter", Filter{false,
                                      {"@privileged",
                                       "@resources",
                                       "@keyring",
                                       "@mount",
                                       "@pkey",
                                       "io_uring_setup",
                                       "io_uring_enter",
                                       "io_uring_register",
                                       "userfaultfd",
                                       "process_vm_readv",
                                       "process_vm_writev",
                                       "process_madvise",
                                       "kcmp",
                                       "pidfd_getfd",
                                       "name_to_handle_at",
                                       "bpf",
                                       "perf_event_open",
                                       "fanotify_init",
                                       "memfd_secret",
                                       "vmsplice",
                                       "lsm_list_modules",
                                       "personality",
                                       "ptrace"}});
  unit.set("LimitCORE", std::uint64_t{0});
  unit.set("LimitCORESoft", std::uint64_t{0});
}

void sealRoot(Unit& unit) {
  unit.set("RootDirectory", kSkeleton);
  unit.set("MountAPIVFS", true);
  unit.set("BindLogSockets", false);
  unit.set("ProtectSystem", "strict");
  unit.set("ProtectHome", "tmpfs");
  unit.set("PrivateTmpEx", "disconnected");
  unit.set("ReadOnlyPaths", Strings{"+/"});
  unit.set("InaccessiblePaths", Strings{"+/sys"});
  unit.set("PrivateDevices", true);
  unit.set("DevicePolicy", "closed");
  unit.set("PrivatePIDs", "yes");
  unit.set("PrivateIPC", true);
  unit.set("PrivateUsersEx", "self");
  unit.set("ProtectHostname", true);
  unit.set("ProtectProc", "invisible");
  unit.set("ProcSubset", "pid");
  unit.set("ProtectControlGroupsEx", "strict");
  unit.set("ProtectKernelTunables", true);
  unit.set("ProtectKernelModules", true);
  unit.set("ProtectKernelLogs", true);
  unit.set("ProtectClock", true);
}

// The task's number, which the unit's name tells everybody anyway: journalctl COFFER_TASK=17 shows what its units said.
void logFields(Unit& unit, const std::string& name) {
  if (!name.starts_with("coffer-")) return;
  const auto number = name.substr(7, name.find('-', 7) - 7);
  if (number.empty() || number.find_first_not_of("0123456789") != std::string::npos) return;
  unit.set("LogExtraFields", LogFields{{std::string(names::kFieldTask) + "=" + number}});
}

Unit base(const SealedSpec& spec) {
  Unit unit;
  unit.name = spec.name + ".service";
  unit.fds = spec.fds;
  unit.set("Description", "Cofferdam " + spec.name);
  logFields(unit, spec.name);
  unit.set("Slice", spec.slice);
  unit.set("Type", "exec");
  unit.set("RemainAfterExit", true);  // PID 1 keeps the record of the end until we have it
  unit.set("User", spec.identity.user);
  unit.set("Group", spec.identity.user);
  unit.set("ExecStartEx", spec.command);
  unit.set("TimeoutStopUSec", kStopTimeoutUs);
  unit.set("KillMode", "control-group");
  unit.set("OOMPolicy", "kill");
  unit.set("StandardInput", "null");
  if (!spec.standardOutput.empty()) unit.set("StandardOutputFileToAppend", spec.standardOutput);
  if (!spec.standardError.empty()) unit.set("StandardErrorFileToAppend", spec.standardError);
  if (spec.limits.memoryBytes) {
    unit.set("MemoryMax", spec.limits.memoryBytes);
    unit.set("MemorySwapMax", std::uint64_t{0});
  }
  if (spec.limits.tasks) unit.set("TasksMax", spec.limits.tasks);
  if (spec.limits.runtimeUs) unit.set("RuntimeMaxUSec", spec.limits.runtimeUs);
  if (spec.limits.fileBytes) {
    unit.set("LimitFSIZE", spec.limits.fileBytes);
    unit.set("LimitFSIZESoft", spec.limits.fileBytes);
  }
  sealProcess(unit);
  sealRoot(unit);
  return unit;
}

void families(Unit& unit, Strings list) { unit.set("RestrictAddressFamilies", Filter{true, std::move(list)}); }

std::vector<Bind> hostProgram() {
  // Not recursive: the skeleton, which all of this is mounted on, is itself below /usr.
  return {{"/usr", "/usr", false, false},
          {"/etc/ssl/certs", "/etc/ssl/certs", true},
          {"/etc/alternatives", "/etc/alternatives", true},
          {"/etc/ld.so.cache", "/etc/ld.so.cache", true},
          {"/etc/localtime", "/etc/localtime", true}};
}

void identityFiles(std::vector<Bind>& binds, const std::string& in) {
  binds.push_back({in + "/.etc/passwd", "/etc/passwd"});
  binds.push_back({in + "/.etc/group", "/etc/group"});
}

void serves(Unit& unit) {
  // It holds listeners that an agent is connecting to: one that failed is started again and finds them as they were.
  unit.set("Restart", "on-failure");
  unit.set("RestartUSec", std::uint64_t{100'000});
  // When all of a user's tasks together have used up that user's memory, an agent is ended and not what serves it.
  unit.set("OOMScoreAdjust", std::int32_t{-900});
}

void noNetwork(Unit& unit) { unit.set("PrivateNetwork", true); }

Unit worker(const SealedSpec& spec) {
  Unit unit = base(spec);
  auto readOnly = hostProgram();
  identityFiles(readOnly, spec.in);
  readOnly.push_back({spec.in, "/in"});
  readOnly.insert(readOnly.end(), spec.readOnly.begin(), spec.readOnly.end());
  unit.set("BindReadOnlyPaths", readOnly);
  auto writable = spec.writable;
  if (!spec.out.empty()) writable.push_back({spec.out, "/out"});
  if (!writable.empty()) unit.set("BindPaths", writable);
  unit.set("TemporaryFileSystem", Pairs{{"/tmp", "mode=1777,size=256M,nosuid,nodev"},
                                        {"/dev/shm", "mode=1777,size=64M,nosuid,nodev"},
                                        {"/run", "mode=0755,size=1M,ro"}});
  unit.set("WorkingDirectory", "/tmp");
  unit.set("MemoryDenyWriteExecute", true);
  const auto optional = [](const Strings& paths) {
    Strings inside;
    for (const auto& path : paths)
      inside.push_back("-+" + path);
    return inside;
  };
  if (!spec.locked.empty()) unit.set("ReadOnlyPaths", optional(spec.locked));
  if (!spec.pinned.empty()) unit.set("ReadWritePaths", optional(spec.pinned));
  return unit;
}

}  // namespace

Unit agentUnit(const AgentSpec& spec) {
  const auto& sealed = spec.sealed;
  Unit unit = base(sealed);
  // Not for workers: it answers openat2() with ENOSYS, and opening beneath a directory is what they rest on.
  unit.set("RestrictSUIDSGID", true);
  auto readOnly = hostProgram();
  identityFiles(readOnly, sealed.in);
  readOnly.push_back({sealed.in, "/task/in"});
  if (!spec.agents.empty()) readOnly.push_back({spec.agents, "/opt/agents"});
  readOnly.insert(readOnly.end(), sealed.readOnly.begin(), sealed.readOnly.end());
  auto writable = sealed.writable;
  if (spec.workspaceReadOnly)
    readOnly.push_back({spec.workspace, "/src"});
  else
    writable.push_back({spec.workspace, "/src"});
  if (!spec.home.empty()) writable.push_back({spec.home, "/home/agent"});
  if (!sealed.out.empty()) writable.push_back({sealed.out, "/task/out"});
  unit.set("BindReadOnlyPaths", readOnly);
  unit.set("BindPaths", writable);
  unit.set("TemporaryFileSystem", Pairs{{"/tmp", "mode=1777,size=2G,nosuid,nodev"},
                                        {"/var/tmp", "mode=1777,size=2G,nosuid,nodev"},
                                        {"/dev/shm", "mode=1777,size=512M,nosuid,nodev"},
                                        {"/run", "mode=0755,size=1M,ro"}});
  // The path wins over PrivateNetwork: the namespace is the one coffer-walls made and its rules hold.
  unit.set("PrivateNetwork", true);
  unit.set("NetworkNamespacePath", spec.namespacePath);
  // AF_NETLINK: node and python list interfaces with it; in a namespace with lo alone and no capability there is
  // nothing to change.
  families(unit, {"AF_UNIX", "AF_INET", "AF_INET6", "AF_NETLINK"});
  unit.set("LimitNOFILE", std::uint64_t{65536});
  unit.set("LimitNOFILESoft", std::uint64_t{65536});
  unit.set("CPUWeight", std::uint64_t{50});
  unit.set("IOWeight", std::uint64_t{50});
  unit.set("WorkingDirectory", "/src");
  unit.set("Environment",
           Strings{"HOME=/home/agent", "LANG=C.UTF-8", "PATH=/opt/agents/bin:/usr/local/bin:/usr/bin:/bin"});
  unit.set("MemoryPressureWatch", "off");
  return unit;
}

Unit workerUnit(const SealedSpec& spec) {
  Unit unit = worker(spec);
  noNetwork(unit);
  families(unit, {"AF_UNIX"});
  return unit;
}

Unit ownerUnit(const SealedSpec& spec) {
  Unit unit = workerUnit(spec);
  // The owner's group is whatever passwd says; naming the user twice would make the group of that name.
  std::erase_if(unit.properties, [](const Property& property) { return property.name == "Group"; });
  return unit;
}

Unit gatewayUnit(const GatewaySpec& spec) {
  SealedSpec sealed = spec.sealed;
  for (const char* file : {"/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf"})
    sealed.readOnly.push_back({file, file, true});
  sealed.limits.memoryBytes = limits::kGatewayMemory;
  sealed.limits.tasks = limits::kServerProcesses;
  Unit unit = worker(sealed);
  families(unit, {"AF_INET", "AF_INET6"});
  serves(unit);
  if (!spec.credential.empty()) unit.set("LoadCredentialEncrypted", Pairs{{"key", spec.credential}});
  return unit;
}

Unit resolverUnit(const SealedSpec& spec) {
  SealedSpec sealed = spec;
  sealed.limits.memoryBytes = limits::kResolverMemory;
  sealed.limits.tasks = limits::kServerProcesses;
  Unit unit = worker(sealed);
  noNetwork(unit);
  families(unit, {"AF_INET"});
  serves(unit);
  return unit;
}

Unit openerUnit(const std::string& name, const std::string& slice, std::uint32_t uid, PassedFd socket) {
  Unit unit;
  unit.name = name + ".service";
  unit.set("Description", "Cofferdam opens a directory as its owner");
  unit.set("Slice", slice);
  unit.set("Type", "exec");
  unit.set("User", std::to_string(uid));
  unit.set("ExecStartEx", Command{{"/usr/libexec/cofferdam/coffer-opener"}});
  unit.set("RuntimeMaxUSec", std::uint64_t{30'000'000});
  unit.set("TimeoutStopUSec", kStopTimeoutUs);
  unit.set("StandardInput", "null");
  unit.set("CollectMode", "inactive-or-failed");
  sealProcess(unit);
  families(unit, {"AF_UNIX"});
  unit.set("MemoryDenyWriteExecute", true);
  unit.fds.push_back(std::move(socket));
  return unit;
}

std::vector<Property> sliceProperties(const SliceLimits& limits) {
  std::vector<Property> properties;
  if (limits.memoryBytes) {
    properties.push_back({"MemoryMax", limits.memoryBytes});
    properties.push_back({"MemorySwapMax", std::uint64_t{0}});
  }
  if (limits.tasks) properties.push_back({"TasksMax", limits.tasks});
  return properties;
}

}  // namespace coffer::sandbox
