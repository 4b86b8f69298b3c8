#include "store/owners.hpp"

#include <utility>

namespace coffer::store {

std::expected<std::optional<std::string>, Error> Owners::name(std::uint32_t uid) {
  Database::Transaction transaction(database_, false);
  std::optional<std::string> name;
  if (auto row = database_.query("SELECT name FROM owners WHERE uid = ?", uid); row.next()) name = row.text(0);
  return transaction.finish(std::move(name));
}

std::expected<void, Error> Owners::remember(std::uint32_t uid, const std::string& name) {
  Database::Transaction transaction(database_);
  database_.run("INSERT OR IGNORE INTO owners (uid, name) VALUES (?, ?)", uid, name);
  return transaction.finish();
}

std::expected<std::vector<std::uint32_t>, Error> Owners::all() {
  Database::Transaction transaction(database_, false);
  std::vector<std::uint32_t> uids;
  auto row = database_.query(
      "SELECT owner FROM projects WHERE disowned = 0 UNION "
      "SELECT owner FROM providers WHERE machine = 0 AND removed = 0 UNION "
      "SELECT id FROM provider_spenders WHERE kind = 'user'");
  while (row.next())
    uids.push_back(static_cast<std::uint32_t>(row.integer(0)));
  return transaction.finish(std::move(uids));
}

std::expected<std::vector<std::uint64_t>, Error> Owners::disown(std::uint32_t uid, const std::string& name) {
  Database::Transaction transaction(database_);
  std::vector<std::uint64_t> providers;
  {
    auto row = database_.query("SELECT id FROM providers WHERE machine = 0 AND owner = ? AND removed = 0", uid);
    while (row.next())
      providers.push_back(row.number(0));
  }
  database_.run("UPDATE providers SET removed = 1, has_key = 0, key_hint = '' WHERE machine = 0 AND owner = ?", uid);
  database_.run("UPDATE projects SET disowned = 1 WHERE owner = ?", uid);
  database_.run("DELETE FROM provider_spenders WHERE kind = 'user' AND id = ?", uid);
  database_.run("DELETE FROM requests WHERE uid = ?", uid);
  database_.run("INSERT OR REPLACE INTO owners (uid, name) VALUES (?, ?)", uid, name);
  return transaction.finish(std::move(providers));
}

}  // namespace coffer::store
