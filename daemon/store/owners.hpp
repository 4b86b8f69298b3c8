#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "store/database.hpp"

namespace coffer::store {

/// Which user had a uid when projects and keys became that uid's. A uid is given again when its user was deleted, and
/// who gets it then has nothing of what is there.
class Owners {
 public:
  explicit Owners(Database& database) : database_(database) {}

  /// The name that was remembered, if any was.
  std::expected<std::optional<std::string>, Error> name(std::uint32_t uid);
  /// Remembers who has the uid; what was remembered before stays.
  std::expected<void, Error> remember(std::uint32_t uid, const std::string& name);
  /// The uids that own a project or a provider now, or may spend a key.
  std::expected<std::vector<std::uint32_t>, Error> all();
  /// The uid is somebody else's now: its projects, and with them their tasks, are nobody's; its answers, its providers
  /// and what it might spend are gone. Gives the ids of the latter, whose keys are the caller's to take away.
  std::expected<std::vector<std::uint64_t>, Error> disown(std::uint32_t uid, const std::string& name);

 private:
  Database& database_;
};

}  // namespace coffer::store
