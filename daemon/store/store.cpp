#include "store/store.hpp"

#include <filesystem>
#include <utility>

#include "store/schema.hpp"

namespace coffer::store {

Store::Store(std::unique_ptr<Database> database, const std::string& directory)
    : database_(std::move(database)),
      tasks_(*database_, directory),
      texts_(*database_),
      runs_(*database_),
      findings_(*database_),
      refusals_(*database_),
      conversations_(*database_),
      uids_(*database_),
      projects_(*database_),
      providers_(*database_),
      requests_(*database_),
      owners_(*database_) {}

std::expected<std::unique_ptr<Store>, Error> Store::open(const std::string& path, std::uint64_t now) {
  if (auto known = checkSchema(path); !known) return std::unexpected(known.error());
  auto database = Database::open(path);
  if (!database) return std::unexpected(database.error());
  if (auto done = migrate(**database, now); !done) return std::unexpected(done.error());
  // The form of the store is to stand in the header of the file itself: the package's preinst reads that, and no log.
  // On a full disk it cannot, which keeps nothing else from working: an older cofferd refuses the store by itself.
  sqlite3_wal_checkpoint_v2((*database)->handle(), nullptr, SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr);
  return std::unique_ptr<Store>(new Store(*std::move(database), std::filesystem::path(path).parent_path().string()));
}

}  // namespace coffer::store
