#pragma once

#include <cstdint>

/// Named limits of what a provider may ask for, as those of limits.hpp: the comment before a constant is its row in
/// docs/limits.md. They are here because nothing but the gateway and the end of a turn needs them.
namespace coffer::limits {

/// For how long a provider may tell us to wait (retry-after, and the times at which its limits are renewed). A longer
/// retry-after counts as this one, and a time that is later is not believed; longer than any provider's month.
inline constexpr std::uint64_t kProviderPauseSeconds = 31ULL * 24 * 3600;

}  // namespace coffer::limits
