#pragma once

#include <vector>

#include "walls/netlink.hpp"
#include "walls/request.hpp"

namespace coffer::walls {

/// Both act on the network namespace that the calling thread is in.

/// Puts the rules of a sandbox there, in one batch: its own loopback addresses may be spoken to, everything else is
/// counted by destination and refused at once.
Result<void> installSandboxRules();

struct SandboxRefusals {
  std::vector<RefusalEntry> entries;
  bool full = false;
};
Result<SandboxRefusals> readSandboxRefusals();

}  // namespace coffer::walls
