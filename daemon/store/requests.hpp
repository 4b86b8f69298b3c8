#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>

#include "store/database.hpp"

namespace coffer::store {

/// A changing call that named itself, with its answer: the same call again gets the same answer and has no second
/// effect.
struct RequestAnswer {
  std::uint32_t uid = 0;  ///< of the caller; ids of different callers never meet
  std::string id;
  std::string operation;  ///< member and what it was about; the same id for another one is a mistake of the caller
  std::string answer;
  std::uint64_t at = 0;  ///< microseconds CLOCK_REALTIME
};

class Requests {
 public:
  explicit Requests(Database& database) : database_(database) {}

  /// The earlier answer. Errors: InvalidArgument when the id was used for another operation.
  std::expected<std::optional<std::string>, Error> find(std::uint32_t uid, const std::string& id,
                                                        const std::string& operation);
  /// Keeps the answer, and forgets those of before kAnswerTime and beyond kAnswersPerUser; to be called in the
  /// transaction of the effect.
  std::expected<void, Error> keep(const RequestAnswer& request);
  /// Takes away the answers that a caller got, or would have got, to an operation.
  std::expected<void, Error> drop(std::uint32_t uid, const std::string& operation, const std::string& answer);

 private:
  Database& database_;
};

}  // namespace coffer::store
