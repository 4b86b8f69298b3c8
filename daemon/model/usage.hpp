#pragma once

#include <cstdint>

namespace coffer::model {

/// What turns used. Source of the tokens: the gateway's count on the wire where there is one, else the agent's own.
/// Every member is a total of that kind; input does not include what was cached.
struct Usage {
  std::int64_t input = 0;       ///< tokens, with those written to a cache
  std::int64_t cached = 0;      ///< tokens read from a cache
  std::int64_t output = 0;      ///< tokens, reasoning included
  std::int64_t reasoning = 0;   ///< tokens of the output that were reasoning, where told
  std::int64_t requests = 0;    ///< requests to the provider
  std::int64_t costMicro = 0;   ///< millionths of the price list's currency
  std::int64_t wallMicros = 0;  ///< microseconds the runs took

  /// What a budget counts: whatever went to a provider and came from it.
  [[nodiscard]] std::int64_t tokens() const { return input + cached + output; }

  Usage& operator+=(const Usage& other) {
    input += other.input;
    cached += other.cached;
    output += other.output;
    reasoning += other.reasoning;
    requests += other.requests;
    costMicro += other.costMicro;
    wallMicros += other.wallMicros;
    return *this;
  }
  bool operator==(const Usage&) const = default;
};

}  // namespace coffer::model
