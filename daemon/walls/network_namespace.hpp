#pragma once

#include <cstdint>

#include "os/fd.hpp"
#include "walls/fault.hpp"
#include "walls/sandbox_rules.hpp"

namespace coffer::walls {

inline constexpr std::uint16_t kModelPort = 4180;
inline constexpr std::uint16_t kDnsPort = 53;

/// A sandbox's network: the namespace and what listens in it. Open descriptors keep it.
struct NetworkNamespace {
  Fd ns;
  Fd model;   ///< tcp 127.0.0.1:kModelPort
  Fd dnsUdp;  ///< udp 127.0.0.1:kDnsPort
  Fd dnsTcp;  ///< tcp 127.0.0.1:kDnsPort
};

/// Makes one, complete: rules before `lo` is up, listeners last. The calling thread stays where it is; a thread of its
/// own goes in.
Result<NetworkNamespace> makeNetworkNamespace();

/// What the sandbox in `ns` was refused so far.
Result<SandboxRefusals> refusalsIn(int ns);

}  // namespace coffer::walls
