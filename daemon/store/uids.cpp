#include "store/uids.hpp"

#include <utility>

namespace coffer::store {

namespace {

constexpr const char* kBaseCounter = "uid.base";

std::vector<HeldUid> heldOf(Database::Query row) {
  std::vector<HeldUid> held;
  while (row.next())
    held.push_back({.uid = static_cast<std::uint32_t>(row.integer(0)), .task = row.number(1), .holder = row.text(2)});
  return held;
}

}  // namespace

std::expected<std::uint32_t, Error> Uids::take(model::UidPart part, std::uint64_t task, const std::string& holder,
                                               std::uint64_t now) {
  Database::Transaction transaction(database_);
  const auto range = model::UidRanges(base()).part(part);
  const std::string counter = "uid." + std::string(range.name);
  std::uint32_t next = range.first;
  if (auto row = database_.query("SELECT value FROM counters WHERE name = ?", counter); row.next())
    if (const auto value = row.integer(0); value >= range.first && value <= range.last)
      next = static_cast<std::uint32_t>(value);
  const std::uint32_t start = next;
  const auto following = [&](std::uint32_t uid) { return uid == range.last ? range.first : uid + 1; };
  bool found = false;
  do {
    if (!database_.query("SELECT 1 FROM uids WHERE uid = ?", next).next()) {
      found = true;
      break;
    }
    next = following(next);
  } while (next != start && !database_.failed());
  if (!found)
    database_.fail({ErrorCode::Limit, "All " + std::to_string(range.size()) + " uids for a " + std::string(range.name) +
                                          " are held. Delete tasks that have ended, then try again."});
  database_.run("INSERT INTO uids (uid, part, task, holder, taken) VALUES (?, ?, ?, ?, ?)", next, range.name, task,
                holder, now);
  database_.run("INSERT INTO counters (name, value) VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value",
                counter, following(next));
  return transaction.finish(next);
}

std::uint32_t Uids::base() {
  auto row = database_.query("SELECT value FROM counters WHERE name = ?", kBaseCounter);
  return row.next() ? static_cast<std::uint32_t>(row.integer(0)) : model::kUidBase;
}

std::expected<model::UidRanges, Error> Uids::useBase(std::uint32_t base) {
  Database::Transaction transaction(database_);
  auto counts = this->base();
  if (counts != base && !database_.query("SELECT 1 FROM uids LIMIT 1").next()) {
    counts = base;
    database_.run("INSERT INTO counters (name, value) VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value",
                  kBaseCounter, base);
  }
  return transaction.finish(model::UidRanges(counts));
}

std::expected<void, Error> Uids::release(std::uint32_t uid) {
  Database::Transaction transaction(database_);
  database_.run("DELETE FROM uids WHERE uid = ?", uid);
  return transaction.finish();
}

std::expected<std::vector<HeldUid>, Error> Uids::ofTask(std::uint64_t task) {
  Database::Transaction transaction(database_, false);
  return transaction.finish(
      heldOf(database_.query("SELECT uid, task, holder FROM uids WHERE task = ? ORDER BY uid", task)));
}

std::expected<std::vector<HeldUid>, Error> Uids::all() {
  Database::Transaction transaction(database_, false);
  return transaction.finish(heldOf(database_.query("SELECT uid, task, holder FROM uids ORDER BY uid")));
}

}  // namespace coffer::store
