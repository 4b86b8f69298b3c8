#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <vector>

#include "store/database.hpp"

namespace coffer::store {

/// What a reviewer objects to.
struct Finding {
  std::uint64_t task = 0;
  std::uint64_t run = 0;
  std::string id;  ///< from path and normalised title: the same in every round
  std::uint64_t round = 0;
  std::string source;    ///< who says so: "review", later an auditor's name
  std::string severity;  ///< error, warning, info
  bool blocking = false;
  std::string path;
  std::uint64_t line = 0;
  std::string title;
  std::string text;
};

class Findings {
 public:
  explicit Findings(Database& database) : database_(database) {}

  std::expected<void, Error> add(const Finding& finding);
  /// Oldest first.
  std::expected<std::vector<Finding>, Error> ofTask(std::uint64_t task);

 private:
  Database& database_;
};

}  // namespace coffer::store
