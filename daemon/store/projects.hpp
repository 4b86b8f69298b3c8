#pragma once

#include <cstdint>
#include <expected>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "store/database.hpp"

namespace coffer::store {

struct Project {
  std::uint64_t id = 0;
  std::uint32_t owner = 0;  ///< uid
  std::string name;
  std::string directory;  ///< bytes
  std::string authorName;
  std::string authorEmail;
  std::string base;  ///< commit that was last taken from the repository; empty until the first was
  std::uint64_t created = 0;
  bool removed = false;
  std::vector<std::string> build;
  std::vector<std::string> test;
  std::optional<std::uint32_t> rounds;  ///< of its tasks; nothing: as the machine is configured
  std::uint64_t budget = 0;             ///< tokens a task of it may cost; 0 = none
  std::map<std::string, std::string> policy;
  std::map<std::string, std::string> agents;
  std::map<std::string, std::string> networks;
  bool disowned = false;  ///< its owner's uid is another person's now: nobody's, and so are its tasks (see Owners)
};

class Projects {
 public:
  explicit Projects(Database& database) : database_(database) {}

  /// Gives the id, never reused. Errors: NameTaken.
  std::expected<std::uint64_t, Error> add(const Project& project);
  /// Writes everything but id, owner and created. Errors: UnknownObject, NameTaken.
  std::expected<void, Error> set(const Project& project);
  /// The commit that was taken from it last; without effect on one that was removed.
  std::expected<void, Error> setBase(std::uint64_t id, const std::string& commit);
  /// Keeps the row for the history. Errors: UnknownObject; Busy while a task of it has not ended.
  std::expected<void, Error> remove(std::uint64_t id);

  /// Removed ones too. Errors: UnknownObject.
  std::expected<Project, Error> get(std::uint64_t id);
  /// Whether it is nobody's. Errors: UnknownObject.
  std::expected<bool, Error> isDisowned(std::uint64_t id);
  std::expected<std::optional<std::uint64_t>, Error> byName(std::uint32_t owner, const std::string& name);
  /// Those that were not removed; of an owner, theirs.
  std::expected<std::vector<Project>, Error> list(std::optional<std::uint32_t> owner);

 private:
  void writeSettings(const Project& project);
  void readSettings(Project& project);
  void refuseTaken(const Project& project);

  Database& database_;
};

}  // namespace coffer::store
