#include "workers/collector/usage.hpp"

#include <algorithm>

namespace coffer::collector {

TokenCounts turnUsage(const agents::Protocol& protocol, const TokenCounts& told, const TokenCounts& before) {
  TokenCounts turn = told;
  if (protocol.inputIncludesCached) turn.input -= std::min(turn.input, turn.cached);
  if (protocol.usage != agents::UsageMode::Cumulative) return turn;
  if (turn.input < before.input || turn.cached < before.cached || turn.cacheWrite < before.cacheWrite ||
      turn.output < before.output)
    return turn;
  turn.input -= before.input;
  turn.cached -= before.cached;
  turn.cacheWrite -= before.cacheWrite;
  turn.output -= before.output;
  return turn;
}

}  // namespace coffer::collector
