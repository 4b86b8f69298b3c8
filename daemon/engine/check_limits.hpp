#pragma once

#include <chrono>
#include <cstddef>

/// Named limits of the checks of the system, as those of model/limits.hpp: the comment before a constant is its row in
/// docs/limits.md. They are here because nothing but the checks needs them.
namespace coffer::limits {

/// Checks of the system (CheckSystem) of one user that wait for their answer; anybody on the bus may ask. More is
/// refused with Limit.
inline constexpr std::size_t kSystemChecksPerUser = 4;

/// Microseconds between the end of one look at the whole system and the begin of the next, whoever asks. Who asks
/// meanwhile waits.
inline constexpr std::chrono::microseconds kSystemCheckPause{1'000'000};

/// Microseconds for one part of that look to answer (coffer-walls, systemd, polkit, the clock's service). Then it
/// counts as away.
inline constexpr std::chrono::microseconds kSystemCheckTime{3'000'000};

/// For coffer-walls to take a connection for it, which the loop waits for. Then it counts as away.
inline constexpr std::chrono::milliseconds kSystemCheckConnectTime{200};

/// Microseconds by which the clock may be before the newest stored event, as when it was set by a moment. More is told.
inline constexpr std::chrono::microseconds kClockBack{60'000'000};

}  // namespace coffer::limits
