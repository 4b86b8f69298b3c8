#pragma once

#include <cstdint>

#include "agents/protocol.hpp"

namespace coffer::collector {

/// Token counts as an agent tells them.
struct TokenCounts {
  std::uint64_t input = 0;
  std::uint64_t cached = 0;
  std::uint64_t cacheWrite = 0;
  std::uint64_t output = 0;

  bool operator==(const TokenCounts&) const = default;
};

/// One turn's own counts: what the agent told in this turn, without what earlier turns of the conversation used when
/// its numbers are cumulative. `before` is the sum of the earlier turns' own counts, as this function gave them. Input
/// never holds cached tokens. A conversation whose numbers fell began anew: nothing is taken off.
TokenCounts turnUsage(const agents::Protocol& protocol, const TokenCounts& told, const TokenCounts& before);

}  // namespace coffer::collector
