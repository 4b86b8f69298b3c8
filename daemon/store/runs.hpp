#pragma once

#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "store/database.hpp"
#include "store/run.hpp"

namespace coffer::store {

/// Every unit that was started for a task. A run is found again by its unit's name.
class Runs {
 public:
  explicit Runs(Database& database) : database_(database) {}

  /// Gives the run's id, never reused. Errors: WrongState when there was a unit of that name before.
  std::expected<std::uint64_t, Error> begin(const RunStart& start);
  /// Counts once: an ended run stays as it is, and true says that this was the end that counts. Errors: NotFound.
  std::expected<bool, Error> end(const RunEnd& end);

  std::expected<std::optional<Run>, Error> byUnit(const std::string& unit);
  std::expected<std::vector<Run>, Error> ofTask(std::uint64_t task);

 private:
  Database& database_;
};

}  // namespace coffer::store
