#include "store/findings.hpp"

namespace coffer::store {

std::expected<void, Error> Findings::add(const Finding& finding) {
  Database::Transaction transaction(database_);
  database_.run(
      "INSERT INTO findings (task, run, id, round, source, severity, blocking, path, line, title, text) "
      "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
      finding.task, finding.run, finding.id, finding.round, finding.source, finding.severity, finding.blocking,
      finding.path, finding.line, finding.title, finding.text);
  return transaction.finish();
}

std::expected<std::vector<Finding>, Error> Findings::ofTask(std::uint64_t task) {
  Database::Transaction transaction(database_, false);
  std::vector<Finding> findings;
  auto row = database_.query(
      "SELECT task, run, id, round, source, severity, blocking, path, line, title, text FROM findings WHERE task = ? "
      "ORDER BY round DESC, row",
      task);
  while (row.next())
    findings.push_back({.task = row.number(0),
                        .run = row.number(1),
                        .id = row.text(2),
                        .round = row.number(3),
                        .source = row.text(4),
                        .severity = row.text(5),
                        .blocking = row.integer(6) != 0,
                        .path = row.text(7),
                        .line = row.number(8),
                        .title = row.text(9),
                        .text = row.text(10)});
  return transaction.finish(std::move(findings));
}

}  // namespace coffer::store
