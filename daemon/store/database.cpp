#include "store/database.hpp"

#include <cerrno>
#include <cstring>

#include <fcntl.h>

#include "model/limits.hpp"
#include "os/fd.hpp"

namespace coffer::store {

namespace {

Error errorOf(sqlite3* handle, int code, std::string_view during) {
  const int primary = code & 0xff;
  const int system = handle != nullptr ? sqlite3_system_errno(handle) : 0;
  if (primary == SQLITE_FULL || (primary == SQLITE_IOERR && (system == ENOSPC || system == EDQUOT)))
    return {ErrorCode::NoSpace,
            "The disk that holds cofferd's store is full, so nothing was changed. Free some space, then try again."};
  if (primary == SQLITE_BUSY || primary == SQLITE_LOCKED)
    return {ErrorCode::Busy,
            "Another program holds cofferd's store, so nothing was changed. Try again when it has let go."};
  std::string words = "cofferd's store could not do what it should (";
  words.append(during).append("): ").append(handle != nullptr ? sqlite3_errmsg(handle) : sqlite3_errstr(code));
  return {ErrorCode::Internal, words + ". Nothing was changed; look at the journal of cofferd."};
}

}  // namespace

std::expected<std::unique_ptr<Database>, Error> Database::open(const std::string& path) {
  // Made by us first, so that it never exists with a wider mode. Closed before SQLite opens it: closing any descriptor
  // of a file drops all locks that this process has on it, and without its lock the next program that looks into the
  // store takes itself for the only one and removes the log from under us.
  Fd made(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!made)
    return std::unexpected(Error{errno == ENOSPC ? ErrorCode::NoSpace : ErrorCode::Internal,
                                 "cofferd's store " + path + " cannot be opened: " + std::strerror(errno) + "."});
  made.reset();
  sqlite3* handle = nullptr;
  const int opened = sqlite3_open_v2(path.c_str(), &handle,
                                     SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, nullptr);
  std::unique_ptr<Database> database(new Database(handle));
  if (opened != SQLITE_OK) return std::unexpected(errorOf(handle, opened, "open"));
  sqlite3_busy_timeout(handle, limits::kStoreBusyMilliseconds);
  sqlite3_limit(handle, SQLITE_LIMIT_ATTACHED, 0);
  database->script(
      "PRAGMA trusted_schema=OFF; PRAGMA foreign_keys=ON; PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"
      "PRAGMA journal_size_limit=16777216");
  if (database->failed()) return std::unexpected(*database->error_);
  return database;
}

void Database::fail(Error error) {
  if (!error_) error_ = std::move(error);
}

void Database::failWith(int code, std::string_view during) { fail(errorOf(handle_.get(), code, during)); }

void Database::script(const std::string& sql) {
  if (failed()) return;
  if (const int code = sqlite3_exec(handle_.get(), sql.c_str(), nullptr, nullptr, nullptr); code != SQLITE_OK)
    failWith(code, sql.substr(0, 60));
}

Database::Query::Query(Database& database, std::string_view sql) : database_(database) {
  if (database.failed()) return;
  std::string key(sql);
  const auto prepare = [&] {
    sqlite3_stmt* statement = nullptr;
    const int code = sqlite3_prepare_v3(database.handle(), key.c_str(), static_cast<int>(key.size()) + 1,
                                        SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
    if (code != SQLITE_OK) database.failWith(code, sql);
    return std::unique_ptr<sqlite3_stmt, FinalizeStatement>(statement);
  };
  auto& cached = database.cache_[key];
  if (!cached) {
    cached = std::make_unique<Cached>();
    cached->statement = prepare();
  }
  if (!cached->statement) {
    database.cache_.erase(key);
    return;
  }
  if (cached->busy) {
    own_ = prepare();
    return;
  }
  cached->busy = true;
  cached_ = cached.get();
}

Database::Query::~Query() {
  if (cached_ == nullptr) return;
  sqlite3_reset(cached_->statement.get());
  sqlite3_clear_bindings(cached_->statement.get());
  cached_->busy = false;
}

sqlite3_stmt* Database::Query::statement() const { return cached_ != nullptr ? cached_->statement.get() : own_.get(); }

bool Database::Query::next() {
  if (database_.failed() || statement() == nullptr) return false;
  const int code = sqlite3_step(statement());
  if (code == SQLITE_ROW) return true;
  if (code != SQLITE_DONE) database_.failWith(code, sqlite3_sql(statement()));
  return false;
}

void Database::Query::bind(int at, std::int64_t value) {
  if (statement() != nullptr) sqlite3_bind_int64(statement(), at, value);
}

void Database::Query::bind(int at, std::string_view value) {
  if (statement() == nullptr) return;
  const char* bytes = value.data() != nullptr ? value.data() : "";
  const int code = sqlite3_bind_text64(statement(), at, bytes, value.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
  if (code != SQLITE_OK) database_.failWith(code, "bind");
}

void Database::Query::bind(int at, Bytes value) {
  if (statement() == nullptr) return;
  const char* bytes = value.bytes.data() != nullptr ? value.bytes.data() : "";
  const int code = sqlite3_bind_blob64(statement(), at, bytes, value.bytes.size(), SQLITE_TRANSIENT);
  if (code != SQLITE_OK) database_.failWith(code, "bind");
}

void Database::Query::bind(int at, std::nullopt_t) {
  if (statement() != nullptr) sqlite3_bind_null(statement(), at);
}

std::int64_t Database::Query::integer(int column) const { return sqlite3_column_int64(statement(), column); }

std::string Database::Query::text(int column) const {
  const void* bytes = sqlite3_column_blob(statement(), column);
  const int length = sqlite3_column_bytes(statement(), column);
  return bytes == nullptr ? std::string()
                          : std::string(static_cast<const char*>(bytes), static_cast<std::size_t>(length));
}

bool Database::Query::null(int column) const { return sqlite3_column_type(statement(), column) == SQLITE_NULL; }

Database::Transaction::Transaction(Database& database, bool writes) : database_(database) {
  if (database_.depth_++ > 0) return;
  database_.error_.reset();
  // The lock is taken at once, so that a transaction never finds out at its end that it cannot write.
  database_.run(writes ? "BEGIN IMMEDIATE" : "BEGIN");
}

Database::Transaction::~Transaction() {
  if (!open_) return;
  database_.fail({ErrorCode::Internal, "A change of the store was given up halfway, so nothing was changed."});
  end();
}

std::optional<Error> Database::Transaction::end() {
  open_ = false;
  const bool outermost = --database_.depth_ == 0;
  if (!outermost) return database_.error_;
  if (!database_.failed()) database_.run("COMMIT");
  if (!database_.failed()) return std::nullopt;
  auto error = std::exchange(database_.error_, std::nullopt);
  if (sqlite3_get_autocommit(database_.handle()) == 0) database_.run("ROLLBACK");
  database_.error_.reset();
  return error;
}

}  // namespace coffer::store
