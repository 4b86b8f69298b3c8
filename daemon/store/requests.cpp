#include "store/requests.hpp"

#include "model/limits.hpp"

namespace coffer::store {

std::expected<std::optional<std::string>, Error> Requests::find(std::uint32_t uid, const std::string& id,
                                                                const std::string& operation) {
  Database::Transaction transaction(database_, false);
  std::optional<std::string> answer;
  if (auto row = database_.query("SELECT operation, answer FROM requests WHERE uid = ? AND id = ?", uid, id);
      row.next()) {
    if (row.text(0) == operation)
      answer = row.text(1);
    else
      database_.fail({ErrorCode::InvalidArgument, "The request_id " + id + " was used for another call (" +
                                                      row.text(0) + "). Take a new one for every call."});
  }
  return transaction.finish(std::move(answer));
}

std::expected<void, Error> Requests::keep(const RequestAnswer& request) {
  Database::Transaction transaction(database_);
  database_.run("INSERT INTO requests (uid, id, operation, answer, at) VALUES (?, ?, ?, ?, ?)", request.uid, request.id,
                request.operation, request.answer, request.at);
  if (request.at > limits::kAnswerTime)
    database_.run("DELETE FROM requests WHERE at < ?", request.at - limits::kAnswerTime);
  database_.run(
      "DELETE FROM requests WHERE uid = ?1 AND id IN "
      "(SELECT id FROM requests WHERE uid = ?1 ORDER BY at DESC LIMIT -1 OFFSET ?2)",
      request.uid, limits::kAnswersPerUser);
  return transaction.finish();
}

std::expected<void, Error> Requests::drop(std::uint32_t uid, const std::string& operation, const std::string& answer) {
  Database::Transaction transaction(database_);
  database_.run("DELETE FROM requests WHERE uid = ? AND operation = ? AND answer = ?", uid, operation, answer);
  return transaction.finish();
}

}  // namespace coffer::store
