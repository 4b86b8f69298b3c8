#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <utility>

#include <sqlite3.h>

#include "dbus/error.hpp"

namespace coffer::store {

struct CloseDatabase {
  void operator()(sqlite3* handle) const noexcept { sqlite3_close_v2(handle); }
};
struct FinalizeStatement {
  void operator()(sqlite3_stmt* handle) const noexcept { sqlite3_finalize(handle); }
};

/// One connection, its statements (prepared once) and the first error of the transaction that is open. An error is
/// kept: nothing more runs until the outermost transaction ends and tells it, so that callers look once.
class Database {
 public:
  class Query;
  class Transaction;

  /// Opens or makes the file, mode 0600, with a write-ahead log that is synced at every commit.
  static std::expected<std::unique_ptr<Database>, Error> open(const std::string& path);

  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;
  ~Database() = default;

  /// A statement with its parameters bound in order: integers, text, and blobs as Bytes.
  template <typename... Values>
  Query query(std::string_view sql, const Values&... values);
  /// The same, run to its end.
  template <typename... Values>
  void run(std::string_view sql, const Values&... values);
  /// Several statements without parameters.
  void script(const std::string& sql);

  /// Rowid of the last insert.
  [[nodiscard]] std::int64_t inserted() const { return sqlite3_last_insert_rowid(handle_.get()); }
  /// Rows the last statement changed.
  [[nodiscard]] std::int64_t changed() const { return sqlite3_changes64(handle_.get()); }

  [[nodiscard]] bool failed() const { return error_.has_value(); }
  /// Makes the open transaction fail with this.
  void fail(Error error);

  [[nodiscard]] sqlite3* handle() const { return handle_.get(); }

 private:
  struct Cached {
    std::unique_ptr<sqlite3_stmt, FinalizeStatement> statement;
    bool busy = false;
  };

  explicit Database(sqlite3* handle) : handle_(handle) {}
  void failWith(int code, std::string_view during);

  std::unique_ptr<sqlite3, CloseDatabase> handle_;
  std::unordered_map<std::string, std::unique_ptr<Cached>> cache_;
  std::optional<Error> error_;
  int depth_ = 0;
};

/// Bytes that are no text, such as a path.
struct Bytes {
  std::string_view bytes;
};

/// A running statement; reset when it goes.
class Database::Query {
 public:
  Query(Query&& other) noexcept
      : database_(other.database_), cached_(std::exchange(other.cached_, nullptr)), own_(std::move(other.own_)) {}
  Query(const Query&) = delete;
  Query& operator=(const Query&) = delete;
  Query& operator=(Query&&) = delete;
  ~Query();

  /// The next row; false at the end and after an error.
  bool next();

  [[nodiscard]] std::int64_t integer(int column) const;
  [[nodiscard]] std::uint64_t number(int column) const { return static_cast<std::uint64_t>(integer(column)); }
  [[nodiscard]] std::string text(int column) const;  ///< or the bytes of a blob; empty for NULL
  [[nodiscard]] bool null(int column) const;

 private:
  friend class Database;
  Query(Database& database, std::string_view sql);
  [[nodiscard]] sqlite3_stmt* statement() const;

  void bind(int at, std::int64_t value);
  void bind(int at, std::string_view value);
  void bind(int at, Bytes value);
  void bind(int at, std::nullopt_t);
  template <typename Value>
  void bind(int at, const Value& value) {
    if constexpr (std::is_integral_v<Value>)
      bind(at, static_cast<std::int64_t>(value));
    else
      bind(at, std::string_view(value));
  }
  template <typename Value>
  void bind(int at, const std::optional<Value>& value) {
    if (value)
      bind(at, *value);
    else
      bind(at, std::nullopt);
  }

  Database& database_;
  Cached* cached_ = nullptr;
  std::unique_ptr<sqlite3_stmt, FinalizeStatement> own_;
};

/// All or nothing. May be nested: only the outermost one commits, and an error within any of them undoes them all.
/// Rolls back when it goes without finish().
class Database::Transaction {
 public:
  explicit Transaction(Database& database, bool writes = true);
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  ~Transaction();

  /// Commits (outermost) and gives the value, or rolls back and gives the first error.
  template <typename Value>
  std::expected<Value, Error> finish(Value value) {
    if (auto error = end()) return std::unexpected(*std::move(error));
    return value;
  }
  std::expected<void, Error> finish() {
    if (auto error = end()) return std::unexpected(*std::move(error));
    return {};
  }

 private:
  std::optional<Error> end();

  Database& database_;
  bool open_ = true;
};

template <typename... Values>
Database::Query Database::query(std::string_view sql, const Values&... values) {
  Query query(*this, sql);
  [[maybe_unused]] int at = 0;
  (query.bind(++at, values), ...);
  return query;
}

template <typename... Values>
void Database::run(std::string_view sql, const Values&... values) {
  auto statement = query(sql, values...);
  while (statement.next()) {
  }
}

}  // namespace coffer::store
