#pragma once

#include <cstdint>
#include <ctime>

namespace coffer::os {

/// Microseconds of CLOCK_REALTIME.
inline std::uint64_t now() {
  timespec time{};
  ::clock_gettime(CLOCK_REALTIME, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000 + static_cast<std::uint64_t>(time.tv_nsec) / 1'000;
}

}  // namespace coffer::os
