#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <vector>

#include "store/database.hpp"

namespace coffer::store {

/// What the walls of a task's sandboxes refused, counted.
struct Refusal {
  std::string role;
  std::string protocol;
  std::string address;
  std::string name;
  std::uint16_t port = 0;
  std::string reason;
  std::uint64_t count = 0;
};

class Refusals {
 public:
  explicit Refusals(Database& database) : database_(database) {}

  /// Adds to the count of the same refusal. Above limits::kRefusalRows different ones the rest is counted as one
  /// without a name.
  std::expected<void, Error> add(std::uint64_t task, const Refusal& refusal);
  std::expected<std::vector<Refusal>, Error> ofTask(std::uint64_t task);

 private:
  Database& database_;
};

}  // namespace coffer::store
