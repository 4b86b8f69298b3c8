#include "store/providers.hpp"

#include <utility>

namespace coffer::store {

namespace {

#define COFFER_PROVIDER_COLUMNS \
  "SELECT id, name, owner, machine, kind, base_url, has_key, key_hint, problem FROM providers "

Provider providerOf(const Database::Query& row) {
  Provider provider;
  provider.id = row.number(0);
  provider.name = row.text(1);
  provider.owner = static_cast<std::uint32_t>(row.integer(2));
  provider.machine = row.integer(3) != 0;
  provider.kind = row.text(4);
  provider.baseUrl = row.text(5);
  provider.hasKey = row.integer(6) != 0;
  provider.keyHint = row.text(7);
  provider.problem = row.text(8);
  return provider;
}

Error unknown(std::uint64_t id) {
  return {ErrorCode::UnknownObject, "There is no provider " + std::to_string(id) + "."};
}

}  // namespace

void Providers::refuseUnchanged(std::uint64_t id) {
  if (!database_.failed() && database_.changed() == 0) database_.fail(unknown(id));
}

void Providers::readSpenders(Provider& provider) {
  auto row =
      database_.query("SELECT kind, id FROM provider_spenders WHERE provider = ? ORDER BY kind, id", provider.id);
  while (row.next())
    (row.text(0) == "user" ? provider.users : provider.groups).push_back(static_cast<std::uint32_t>(row.integer(1)));
}

std::expected<std::uint64_t, Error> Providers::add(const Provider& provider) {
  Database::Transaction transaction(database_);
  const std::uint32_t owner = provider.machine ? 0 : provider.owner;
  if (database_
          .query("SELECT 1 FROM providers WHERE machine = ? AND owner = ? AND name = ? AND removed = 0",
                 provider.machine, owner, provider.name)
          .next())
    database_.fail(
        {ErrorCode::NameTaken, "There is a provider named " + provider.name + " already. Take another name."});
  database_.run(
      "INSERT INTO providers (name, owner, machine, kind, base_url, has_key, key_hint, problem) VALUES (?, ?, ?, ?, ?, "
      "?, ?, ?)",
      provider.name, owner, provider.machine, provider.kind, provider.baseUrl, provider.hasKey, provider.keyHint,
      provider.problem);
  const auto id = static_cast<std::uint64_t>(database_.inserted());
  if (auto done = setSpenders(id, provider.users, provider.groups); !done) database_.fail(done.error());
  return transaction.finish(id);
}

std::expected<bool, Error> Providers::setBaseUrl(std::uint64_t id, const std::string& baseUrl) {
  Database::Transaction transaction(database_);
  std::string before;
  {
    auto row = database_.query("SELECT base_url FROM providers WHERE id = ? AND removed = 0", id);
    if (row.next())
      before = row.text(0);
    else
      database_.fail(unknown(id));
  }
  // A key is for the one address it was given for.
  if (before != baseUrl)
    database_.run("UPDATE providers SET base_url = ?, has_key = 0, key_hint = '' WHERE id = ?", baseUrl, id);
  return transaction.finish(before != baseUrl);
}

std::expected<void, Error> Providers::setKeyPresent(std::uint64_t id, bool present, const std::string& hint) {
  Database::Transaction transaction(database_);
  database_.run("UPDATE providers SET has_key = ?, key_hint = ? WHERE id = ? AND removed = 0", present, hint, id);
  refuseUnchanged(id);
  return transaction.finish();
}

std::expected<void, Error> Providers::setSpenders(std::uint64_t id, const std::vector<std::uint32_t>& users,
                                                  const std::vector<std::uint32_t>& groups) {
  Database::Transaction transaction(database_);
  database_.run("DELETE FROM provider_spenders WHERE provider = ?", id);
  for (const auto user : users)
    database_.run("INSERT OR IGNORE INTO provider_spenders (provider, kind, id) VALUES (?, 'user', ?)", id, user);
  for (const auto group : groups)
    database_.run("INSERT OR IGNORE INTO provider_spenders (provider, kind, id) VALUES (?, 'group', ?)", id, group);
  return transaction.finish();
}

std::expected<void, Error> Providers::remove(std::uint64_t id) {
  Database::Transaction transaction(database_);
  database_.run("UPDATE providers SET removed = 1, has_key = 0, key_hint = '' WHERE id = ? AND removed = 0", id);
  refuseUnchanged(id);
  return transaction.finish();
}

std::expected<Provider, Error> Providers::former(std::uint64_t id) {
  Database::Transaction transaction(database_, false);
  Provider provider;
  {
    auto row = database_.query(COFFER_PROVIDER_COLUMNS "WHERE id = ?", id);
    if (row.next())
      provider = providerOf(row);
    else
      database_.fail(unknown(id));
  }
  return transaction.finish(std::move(provider));
}

std::expected<Provider, Error> Providers::get(std::uint64_t id) {
  Database::Transaction transaction(database_, false);
  Provider provider;
  {
    auto row = database_.query(COFFER_PROVIDER_COLUMNS "WHERE id = ? AND removed = 0", id);
    if (row.next())
      provider = providerOf(row);
    else
      database_.fail(unknown(id));
  }
  readSpenders(provider);
  return transaction.finish(std::move(provider));
}

std::expected<std::vector<Provider>, Error> Providers::list(std::optional<std::uint32_t> owner) {
  Database::Transaction transaction(database_, false);
  std::vector<Provider> providers;
  {
    auto row = database_.query(
        COFFER_PROVIDER_COLUMNS "WHERE removed = 0 AND (?1 IS NULL OR machine = 1 OR owner = ?1) ORDER BY id", owner);
    while (row.next())
      providers.push_back(providerOf(row));
  }
  for (auto& provider : providers)
    readSpenders(provider);
  return transaction.finish(std::move(providers));
}

}  // namespace coffer::store
