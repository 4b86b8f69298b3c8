#include "store/conversations.hpp"

#include <utility>

#include "store/uids.hpp"

namespace coffer::store {

namespace {

std::vector<ConversationRow> all(Database::Query row) {
  std::vector<ConversationRow> found;
  while (row.next())
    found.push_back({.id = row.number(0),
                     .task = row.number(1),
                     .letter = row.text(2),
                     .uid = static_cast<std::uint32_t>(row.integer(3)),
                     .gone = row.integer(4) != 0});
  return found;
}

}  // namespace

std::expected<std::optional<ConversationRow>, Error> Conversations::find(std::uint64_t task,
                                                                         const std::string& letter) {
  Database::Transaction transaction(database_, false);
  auto found = all(database_.query(
      "SELECT id, task, letter, uid, gone FROM conversations WHERE task = ? AND letter = ?", task, letter));
  return transaction.finish(found.empty() ? std::nullopt : std::optional(std::move(found.front())));
}

std::expected<ConversationRow, Error> Conversations::get(std::uint64_t task, const std::string& letter,
                                                         std::uint64_t now) {
  Database::Transaction transaction(database_);
  if (auto known = find(task, letter); known && *known) {
    if (!(*known)->gone) return transaction.finish(**std::move(known));
    // The task was taken up again: another conversation plays the part, with a uid of its own.
    database_.run("UPDATE conversations SET letter = letter || ' before ' || id WHERE id = ?", (*known)->id);
  }
  ConversationRow row{.task = task, .letter = letter};
  if (auto uid = Uids(database_).take(model::UidPart::Sandbox, task, "conversation " + letter, now)) row.uid = *uid;
  database_.run("INSERT INTO conversations (task, letter, uid, created) VALUES (?, ?, ?, ?)", task, letter, row.uid,
                now);
  row.id = static_cast<std::uint64_t>(database_.inserted());
  return transaction.finish(std::move(row));
}

std::expected<std::vector<ConversationRow>, Error> Conversations::ofTask(std::uint64_t task) {
  Database::Transaction transaction(database_, false);
  return transaction.finish(
      all(database_.query("SELECT id, task, letter, uid, gone FROM conversations WHERE task = ? ORDER BY id", task)));
}

std::expected<void, Error> Conversations::gone(std::uint64_t id) {
  Database::Transaction transaction(database_);
  database_.run("DELETE FROM uids WHERE uid = (SELECT uid FROM conversations WHERE id = ? AND gone = 0)", id);
  database_.run("UPDATE conversations SET gone = 1 WHERE id = ?", id);
  return transaction.finish();
}

}  // namespace coffer::store
