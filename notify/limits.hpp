#pragma once

#include <cstddef>
#include <cstdint>

/// What others control of desktop notifications; as daemon/model/limits.hpp, whose page these are on too.
namespace coffer::limits {

/// Bytes and lines of a text of somebody else's (a title, a question, a problem) in a desktop notification. The rest is
/// left out, which an ellipsis tells.
inline constexpr std::size_t kNotificationBytes = 400;
inline constexpr std::size_t kNotificationLines = 5;

/// Desktop notifications shown at once, by however many tasks. The next ones wait.
inline constexpr std::uint64_t kNotificationBurst = 6;

/// Microseconds after which one more desktop notification may be shown; what is shown then is where its task stands
/// then.
inline constexpr std::uint64_t kNotificationTime = 10'000'000;

/// Microseconds that "Later" keeps a task quiet which does not change; then it is shown again.
inline constexpr std::uint64_t kNotificationLater = 900'000'000;

/// Bytes of the token by which a notification server lets a window come to the front. A longer one is not passed on.
inline constexpr std::size_t kActivationTokenBytes = 256;

}  // namespace coffer::limits
