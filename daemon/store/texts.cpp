#include "store/texts.hpp"

#include "model/digest.hpp"
#include "model/limits.hpp"

namespace coffer::store {

std::expected<std::string, Error> Texts::keep(std::uint64_t task, const std::string& bytes) {
  Database::Transaction transaction(database_);
  if (bytes.size() > limits::kTextBytes)
    database_.fail({ErrorCode::TooLarge, "A text has " + std::to_string(bytes.size()) + " bytes; at most " +
                                             std::to_string(limits::kTextBytes) + " are kept. Make it shorter."});
  const std::string digest = model::sha256(bytes);
  database_.run("INSERT INTO texts (digest, bytes) VALUES (?, ?) ON CONFLICT DO NOTHING", digest, Bytes{bytes});
  database_.run("INSERT INTO task_texts (task, digest) VALUES (?, ?) ON CONFLICT DO NOTHING", task, digest);
  return transaction.finish(digest);
}

std::expected<std::string, Error> Texts::read(const std::string& digest) {
  Database::Transaction transaction(database_, false);
  std::string bytes;
  {
    auto found = database_.query("SELECT bytes FROM texts WHERE digest = ?", digest);
    if (found.next())
      bytes = found.text(0);
    else
      database_.fail({ErrorCode::NotFound, "There is no text with the digest " + digest + " (any more)."});
  }
  return transaction.finish(std::move(bytes));
}

std::expected<void, Error> Texts::drop(std::uint64_t task) {
  Database::Transaction transaction(database_);
  database_.run("CREATE TEMP TABLE IF NOT EXISTS dropped (digest TEXT PRIMARY KEY)");
  database_.run("DELETE FROM dropped");
  database_.run("INSERT INTO dropped SELECT digest FROM task_texts WHERE task = ?", task);
  database_.run("DELETE FROM task_texts WHERE task = ?", task);
  database_.run(
      "DELETE FROM texts WHERE digest IN (SELECT digest FROM dropped) AND NOT EXISTS "
      "(SELECT 1 FROM task_texts WHERE task_texts.digest = texts.digest)");
  return transaction.finish();
}

}  // namespace coffer::store
