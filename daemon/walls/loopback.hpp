#pragma once

#include "walls/fault.hpp"

namespace coffer::walls {

/// In the calling thread's network namespace: sets `lo` up and makes every address of both families local to it. There
/// is no other interface, so nothing leaves; but without such a route connect() fails before the rules see a packet,
/// and what a sandbox tried would be counted nowhere.
Result<void> prepareLoopback();

}  // namespace coffer::walls
