#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <vector>

#include "model/uid_range.hpp"
#include "store/database.hpp"

namespace coffer::store {

/// A host uid of our range that somebody holds.
struct HeldUid {
  std::uint32_t uid = 0;
  std::uint64_t task = 0;  ///< 0 = of no task
  std::string holder;      ///< for people and for finding leftovers: "conversation B", a unit's name
};

/// Gives out host uids, each to one holder at a time. A uid is held until it is released, which is for when no file of
/// it exists any more, and even then it is the last to be given again.
class Uids {
 public:
  explicit Uids(Database& database) : database_(database) {}

  /// The range begins at `base` from now on, unless uids of another one are held: then that one stays. The value is the
  /// range that counts.
  std::expected<model::UidRanges, Error> useBase(std::uint32_t base);

  /// Errors: Limit when all of the part are held.
  std::expected<std::uint32_t, Error> take(model::UidPart part, std::uint64_t task, const std::string& holder,
                                           std::uint64_t now);
  std::expected<void, Error> release(std::uint32_t uid);
  std::expected<std::vector<HeldUid>, Error> ofTask(std::uint64_t task);
  std::expected<std::vector<HeldUid>, Error> all();

 private:
  std::uint32_t base();

  Database& database_;
};

}  // namespace coffer::store
