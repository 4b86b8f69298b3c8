#pragma once

#include <cstdint>
#include <expected>
#include <string>

#include "store/database.hpp"

namespace coffer::store {

/// Texts of tasks (prompt, plan, question, reply, feedback, review), each kept once by its digest and as long as a task
/// names it.
class Texts {
 public:
  explicit Texts(Database& database) : database_(database) {}

  /// Keeps a text for a task and gives its digest. Errors: TooLarge above limits::kTextBytes, NoSpace.
  std::expected<std::string, Error> keep(std::uint64_t task, const std::string& bytes);
  /// Errors: NotFound.
  std::expected<std::string, Error> read(const std::string& digest);
  /// Takes away what only this task names.
  std::expected<void, Error> drop(std::uint64_t task);

 private:
  Database& database_;
};

}  // namespace coffer::store
