#pragma once

#include <array>
#include <string_view>

namespace coffer::sandbox {

/// One thing that an agent's unit promises, by which property, and what an administrator looks at where it is not kept.
struct Promise {
  std::string_view name;      ///< as coffer-canary reports it
  std::string_view property;  ///< of systemd
};

/// What coffer-canary tries (daemon/workers/canary/main.cpp).
inline constexpr std::array kPromises = std::to_array<Promise>({
    {"pid-namespace", "PrivatePIDs="},
    {"ipc-namespace", "PrivateIPC="},
    {"user-namespace", "PrivateUsers="},
    {"network-namespace", "NetworkNamespacePath="},
    {"control-group", "ProtectControlGroups="},
    {"capabilities", "CapabilityBoundingSet="},
    {"privileges", "NoNewPrivileges="},
    {"namespaces", "RestrictNamespaces="},
    {"families", "RestrictAddressFamilies="},
    {"setuid-files", "RestrictSUIDSGID="},
    {"read-only", "ReadOnlyPaths= and TemporaryFileSystem="},
    {"devices", "PrivateDevices="},
    {"host-files", "RootDirectory="},
    {"kernel-files", "ProcSubset= and InaccessiblePaths="},
    {"architectures", "SystemCallArchitectures="},
    {"system-calls", "SystemCallFilter="},
});

}  // namespace coffer::sandbox
