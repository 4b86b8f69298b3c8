#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace coffer::collector {

/// A plan as it is understood. Only `refusal` decides whether it can be used; the rest is for showing and for the
/// commit.
struct PlanReading {
  std::string refusal;  ///< empty, or a sentence that tells the planner what to mend
  std::string kind;     ///< feature, bug or other
  std::string summary;
  bool nothingToBuild = false;
  std::vector<std::string> modules;
  std::vector<std::string> criteria;  ///< one line each, without their boxes
};

/// Reads `+++` TOML `+++` Markdown. Total: any bytes give a reading.
PlanReading readPlan(std::string_view plan);

}  // namespace coffer::collector
