#include "store/schema.hpp"

#include <array>
#include <filesystem>
#include <string_view>
#include <system_error>

namespace coffer::store {

namespace {

// Events are the truth. tasks and open_steps are made from them and can be made again; nothing refers to them by a
// foreign key, so that they can be emptied. The rest is what no event holds.
constexpr std::string_view kFirst = R"sql(
CREATE TABLE schema_steps (version INTEGER PRIMARY KEY, applied INTEGER NOT NULL) STRICT;
CREATE TABLE counters (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;

CREATE TABLE events (
  sequence INTEGER PRIMARY KEY AUTOINCREMENT,
  task INTEGER NOT NULL,
  at INTEGER NOT NULL,
  type TEXT NOT NULL,
  payload TEXT NOT NULL CHECK (json_valid(payload))
) STRICT;
CREATE INDEX events_of_task ON events (task, sequence);

CREATE TABLE tasks (
  id INTEGER PRIMARY KEY,
  project INTEGER NOT NULL,
  owner INTEGER NOT NULL,
  title TEXT NOT NULL,
  state TEXT NOT NULL,
  parked TEXT NOT NULL,
  code TEXT NOT NULL,
  until INTEGER NOT NULL,
  flow TEXT NOT NULL,
  round INTEGER NOT NULL,
  rounds INTEGER NOT NULL,
  candidate TEXT NOT NULL,
  needs_person INTEGER NOT NULL,
  ended INTEGER NOT NULL,
  cleaned INTEGER NOT NULL,
  deleted INTEGER NOT NULL,
  created INTEGER NOT NULL,
  changed INTEGER NOT NULL,
  sequence INTEGER NOT NULL
) STRICT;
CREATE INDEX tasks_of_owner ON tasks (owner, id);
CREATE INDEX tasks_live ON tasks (id) WHERE ended = 0;

CREATE TABLE open_steps (
  task INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  kind TEXT NOT NULL
) STRICT;

CREATE TABLE texts (digest TEXT PRIMARY KEY, bytes BLOB NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE task_texts (
  task INTEGER NOT NULL,
  digest TEXT NOT NULL REFERENCES texts (digest),
  PRIMARY KEY (task, digest)
) STRICT, WITHOUT ROWID;
CREATE INDEX task_texts_of_digest ON task_texts (digest);

CREATE TABLE projects (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  owner INTEGER NOT NULL,
  name TEXT NOT NULL,
  directory BLOB NOT NULL,
  author_name TEXT NOT NULL,
  author_email TEXT NOT NULL,
  base TEXT NOT NULL,
  created INTEGER NOT NULL,
  removed INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE UNIQUE INDEX projects_by_name ON projects (owner, name) WHERE removed = 0;
CREATE TABLE project_settings (
  project INTEGER NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
  kind TEXT NOT NULL,
  position INTEGER NOT NULL,
  name TEXT NOT NULL,
  value TEXT NOT NULL,
  PRIMARY KEY (project, kind, position, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE conversations (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  task INTEGER NOT NULL,
  letter TEXT NOT NULL,
  uid INTEGER NOT NULL,
  created INTEGER NOT NULL,
  gone INTEGER NOT NULL DEFAULT 0,
  UNIQUE (task, letter)
) STRICT;

CREATE TABLE runs (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  task INTEGER NOT NULL,
  step TEXT NOT NULL,
  kind TEXT NOT NULL,
  role TEXT NOT NULL,
  agent TEXT NOT NULL,
  model TEXT NOT NULL,
  round INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  unit TEXT NOT NULL UNIQUE,
  conversation INTEGER REFERENCES conversations (id),
  uid INTEGER NOT NULL,
  boot TEXT NOT NULL,
  started INTEGER NOT NULL,
  ended INTEGER NOT NULL DEFAULT 0,
  result TEXT NOT NULL DEFAULT '',
  code INTEGER NOT NULL DEFAULT 0,
  status INTEGER NOT NULL DEFAULT 0,
  invocation TEXT NOT NULL DEFAULT '',
  text TEXT NOT NULL DEFAULT '',
  input INTEGER NOT NULL DEFAULT 0,
  cached INTEGER NOT NULL DEFAULT 0,
  output INTEGER NOT NULL DEFAULT 0,
  reasoning INTEGER NOT NULL DEFAULT 0,
  requests INTEGER NOT NULL DEFAULT 0,
  cost INTEGER NOT NULL DEFAULT 0,
  wall INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX runs_of_task ON runs (task, id);
CREATE INDEX runs_open ON runs (id) WHERE ended = 0;

CREATE TABLE findings (
  row INTEGER PRIMARY KEY AUTOINCREMENT,
  task INTEGER NOT NULL,
  run INTEGER NOT NULL REFERENCES runs (id),
  id TEXT NOT NULL,
  round INTEGER NOT NULL,
  source TEXT NOT NULL,
  severity TEXT NOT NULL,
  blocking INTEGER NOT NULL,
  path TEXT NOT NULL,
  line INTEGER NOT NULL,
  title TEXT NOT NULL,
  text TEXT NOT NULL
) STRICT;
CREATE INDEX findings_of_task ON findings (task, row);

CREATE TABLE refusals (
  task INTEGER NOT NULL,
  role TEXT NOT NULL,
  protocol TEXT NOT NULL,
  address TEXT NOT NULL,
  name TEXT NOT NULL,
  port INTEGER NOT NULL,
  reason TEXT NOT NULL,
  count INTEGER NOT NULL,
  PRIMARY KEY (task, role, protocol, address, name, port, reason)
) STRICT, WITHOUT ROWID;

CREATE TABLE uids (
  uid INTEGER PRIMARY KEY,
  part TEXT NOT NULL,
  task INTEGER NOT NULL,
  holder TEXT NOT NULL,
  taken INTEGER NOT NULL
) STRICT;
CREATE INDEX uids_of_task ON uids (task);

CREATE TABLE providers (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  name TEXT NOT NULL,
  owner INTEGER NOT NULL,
  machine INTEGER NOT NULL,
  kind TEXT NOT NULL,
  base_url TEXT NOT NULL,
  has_key INTEGER NOT NULL,
  key_hint TEXT NOT NULL,
  problem TEXT NOT NULL,
  removed INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE UNIQUE INDEX providers_by_name ON providers (machine, owner, name) WHERE removed = 0;
CREATE TABLE provider_spenders (
  provider INTEGER NOT NULL REFERENCES providers (id) ON DELETE CASCADE,
  kind TEXT NOT NULL CHECK (kind IN ('user', 'group')),
  id INTEGER NOT NULL,
  PRIMARY KEY (provider, kind, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE requests (
  uid INTEGER NOT NULL,
  id TEXT NOT NULL,
  operation TEXT NOT NULL,
  answer TEXT NOT NULL,
  at INTEGER NOT NULL,
  PRIMARY KEY (uid, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX requests_by_time ON requests (at);
)sql";

// A uid that is given to another person takes nothing along: tasks are disowned with their project.
constexpr std::string_view kSecond = R"sql(
CREATE TABLE owners (uid INTEGER PRIMARY KEY, name TEXT NOT NULL) STRICT;
ALTER TABLE projects ADD COLUMN disowned INTEGER NOT NULL DEFAULT 0;
DROP INDEX projects_by_name;
CREATE UNIQUE INDEX projects_by_name ON projects (owner, name) WHERE removed = 0 AND disowned = 0;
CREATE INDEX projects_disowned ON projects (id) WHERE disowned = 1;
)sql";

constexpr std::array<std::string_view, kSchemaVersion> kSteps{kFirst, kSecond};

std::int64_t pragma(sqlite3* handle, const char* name) {
  sqlite3_stmt* raw = nullptr;
  sqlite3_prepare_v2(handle, name, -1, &raw, nullptr);
  const std::unique_ptr<sqlite3_stmt, FinalizeStatement> statement(raw);
  return raw != nullptr && sqlite3_step(raw) == SQLITE_ROW ? sqlite3_column_int64(raw, 0) : -1;
}

}  // namespace

std::expected<void, Error> checkSchema(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored) || std::filesystem::file_size(path, ignored) == 0) return {};
  sqlite3* raw = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &raw, SQLITE_OPEN_READONLY, nullptr);
  const std::unique_ptr<sqlite3, CloseDatabase> handle(raw);
  if (code != SQLITE_OK)
    return std::unexpected(
        Error{ErrorCode::Internal, "cofferd's store " + path + " cannot be read: " + sqlite3_errstr(code) + "."});
  const std::int64_t application = pragma(raw, "PRAGMA application_id");
  const std::int64_t version = pragma(raw, "PRAGMA user_version");
  if (version == -1 || (application != kApplicationId && !(application == 0 && version == 0)))
    return std::unexpected(Error{ErrorCode::Unsupported,
                                 path + " is not a store of cofferd's. Move it away, or put the right file there."});
  if (version > kSchemaVersion)
    return std::unexpected(
        Error{ErrorCode::Unsupported,
              "cofferd's store " + path + " was written by a newer cofferd (schema " + std::to_string(version) +
                  ", this one knows " + std::to_string(kSchemaVersion) +
                  "). It was not touched. Install the newer package again, or restore the store from before."});
  return {};
}

std::expected<void, Error> migrate(Database& database, std::uint64_t now) {
  Database::Transaction transaction(database);
  std::int64_t version = 0;
  if (auto found = database.query("PRAGMA user_version"); found.next()) version = found.integer(0);
  for (; version < kSchemaVersion; ++version) {
    database.script(std::string(kSteps[static_cast<std::size_t>(version)]));
    database.run("INSERT INTO schema_steps (version, applied) VALUES (?, ?)", version + 1, now);
  }
  database.script("PRAGMA application_id=" + std::to_string(kApplicationId) +
                  "; PRAGMA user_version=" + std::to_string(version));
  return transaction.finish();
}

}  // namespace coffer::store
