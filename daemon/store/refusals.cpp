#include "store/refusals.hpp"

#include "model/limits.hpp"

namespace coffer::store {

std::expected<void, Error> Refusals::add(std::uint64_t task, const Refusal& refusal) {
  Database::Transaction transaction(database_);
  database_.run(
      "UPDATE refusals SET count = count + ? WHERE task = ? AND role = ? AND protocol = ? AND address = ? AND name = ? "
      "AND port = ? "
      "AND reason = ?",
      refusal.count, task, refusal.role, refusal.protocol, refusal.address, refusal.name, refusal.port, refusal.reason);
  if (database_.changed() == 0 && !database_.failed()) {
    std::uint64_t known = 0;
    if (auto row = database_.query("SELECT count(*) FROM refusals WHERE task = ?", task); row.next())
      known = row.number(0);
    const bool room = known < limits::kRefusalRows;
    database_.run(
        "INSERT INTO refusals (task, role, protocol, address, name, port, reason, count) VALUES (?, ?, ?, ?, ?, ?, ?, "
        "?) "
        "ON CONFLICT DO UPDATE SET count = count + excluded.count",
        task, refusal.role, refusal.protocol, room ? refusal.address : "", room ? refusal.name : "",
        room ? refusal.port : 0, room ? refusal.reason : "more", refusal.count);
  }
  return transaction.finish();
}

std::expected<std::vector<Refusal>, Error> Refusals::ofTask(std::uint64_t task) {
  Database::Transaction transaction(database_, false);
  std::vector<Refusal> refusals;
  auto row = database_.query(
      "SELECT role, protocol, address, name, port, reason, count FROM refusals WHERE task = ? ORDER BY count DESC, "
      "role, address, name",
      task);
  while (row.next())
    refusals.push_back({.role = row.text(0),
                        .protocol = row.text(1),
                        .address = row.text(2),
                        .name = row.text(3),
                        .port = static_cast<std::uint16_t>(row.integer(4)),
                        .reason = row.text(5),
                        .count = row.number(6)});
  return transaction.finish(std::move(refusals));
}

}  // namespace coffer::store
