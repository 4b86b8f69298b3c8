#pragma once

#include <string_view>

namespace coffer::os {

/// A moment at which a test may stop this process: when the first line of /run/cofferdam/halt-at is "POINT NAME", the
/// file is removed and the process stops itself (SIGSTOP), so that somebody outside can end it exactly there. Built in
/// only with meson's -Dhalt-points=true, which no package sets; otherwise this does nothing.
///
/// Points: `start` (a run is stored, its unit not asked for), `end` (the unit has ended, nothing is stored of it),
/// `recorded` (the run's end is stored), all three with the unit's name without suffix; `done` (a step is done, its
/// fact not stored) and `stored` (the fact is stored, nothing is taken away) with the step's name.
void haltAt(std::string_view point, std::string_view name);

}  // namespace coffer::os
