#include <utility>

#include "store/payload_json.hpp"
#include "store/tasks.hpp"

namespace coffer::store {

namespace {

// Of whoever has its owner's uid now: see Owners.
#define COFFER_OWNED "project NOT IN (SELECT id FROM projects WHERE disowned = 1)"

#define COFFER_TASK_COLUMNS                                                                                            \
  "SELECT id, project, CASE WHEN " COFFER_OWNED                                                                        \
  " THEN owner ELSE 4294967295 END, title, state, parked, code, until, flow, round, rounds, candidate, needs_person, " \
  "ended, "                                                                                                            \
  "cleaned, deleted, created, changed, sequence FROM tasks "

std::vector<TaskRow> rowsOf(Database::Query row) {
  std::vector<TaskRow> rows;
  while (row.next())
    rows.push_back({.id = row.number(0),
                    .project = row.number(1),
                    .owner = static_cast<std::uint32_t>(row.integer(2)),
                    .title = row.text(3),
                    .state = row.text(4),
                    .parked = row.text(5),
                    .code = row.text(6),
                    .until = row.number(7),
                    .flow = row.text(8),
                    .round = row.number(9),
                    .rounds = row.number(10),
                    .candidate = row.text(11),
                    .needsPerson = row.integer(12) != 0,
                    .ended = row.integer(13) != 0,
                    .cleaned = row.integer(14) != 0,
                    .deleted = row.integer(15) != 0,
                    .created = row.number(16),
                    .changed = row.number(17),
                    .sequence = row.number(18)});
  return rows;
}

}  // namespace

std::expected<std::vector<TaskRow>, Error> Tasks::list(const TaskFilter& filter, std::uint64_t cursor,
                                                       std::uint32_t limit) {
  Database::Transaction transaction(database_, false);
  std::string states;
  for (const auto& state : filter.states)
    states.append(",").append(state);
  if (!states.empty()) states += ",";
  return transaction.finish(rowsOf(database_.query(
      COFFER_TASK_COLUMNS "WHERE (?8 OR deleted = 0) AND (?1 IS NULL OR (owner = ?1 AND " COFFER_OWNED
                          ")) AND (?2 IS NULL OR "
                          "project = ?2) AND (?3 = '' OR instr(?3, ',' || state || ',')) "
                          "AND (?4 IS NULL OR needs_person = ?4) AND (?5 IS NULL OR ended = ?5) "
                          "AND (?6 = 0 OR id < ?6) ORDER BY id DESC LIMIT ?7",
      filter.owner, filter.project, states, filter.needsPerson, filter.ended, cursor, limit, filter.deleted)));
}

std::expected<std::optional<std::string>, Error> Tasks::lastLanded(std::uint64_t project, const std::string& branch) {
  Database::Transaction transaction(database_, false);
  std::optional<std::string> commit;
  auto row = database_.query(
      "SELECT json_extract(events.payload, '$.commit') FROM events JOIN tasks ON tasks.id = events.task "
      "WHERE tasks.project = ?1 AND events.type = 'landed' AND json_extract(events.payload, '$.branch') = ?2 "
      "ORDER BY events.sequence DESC LIMIT 1",
      project, branch);
  if (row.next()) commit = row.text(0);
  return transaction.finish(std::move(commit));
}

std::expected<TaskRow, Error> Tasks::row(std::uint64_t id) {
  Database::Transaction transaction(database_, false);
  auto rows = rowsOf(database_.query(COFFER_TASK_COLUMNS "WHERE id = ?", id));
  if (rows.empty()) database_.fail({ErrorCode::UnknownObject, "There is no task " + std::to_string(id) + "."});
  return transaction.finish(rows.empty() ? TaskRow{} : std::move(rows.front()));
}

std::expected<std::vector<StoredEvent>, Error> Tasks::events(std::uint64_t after, std::uint32_t limit,
                                                             std::optional<std::uint32_t> owner,
                                                             std::optional<std::uint64_t> task) {
  Database::Transaction transaction(database_, false);
  std::vector<StoredEvent> events;
  auto row = task
                 ? database_.query(
                       "SELECT e.sequence, e.task, e.at, e.type, e.payload FROM events e JOIN tasks t ON t.id = e.task "
                       "WHERE e.task = ?4 AND e.sequence > ?1 AND (?2 IS NULL OR (t.owner = ?2 AND " COFFER_OWNED
                       ")) "
                       "ORDER BY e.sequence LIMIT ?3",
                       after, owner, limit, *task)
                 : database_.query(
                       "SELECT e.sequence, e.task, e.at, e.type, e.payload FROM events e JOIN tasks t ON t.id = e.task "
                       "WHERE e.sequence > ?1 AND (?2 IS NULL OR (t.owner = ?2 AND " COFFER_OWNED
                       ")) AND t.deleted = 0 "
                       "ORDER BY e.sequence LIMIT ?3",
                       after, owner, limit);
  while (row.next()) {
    auto payload = fromJson(row.text(4));
    if (!payload) {
      database_.fail(payload.error());
      break;
    }
    events.push_back(
        {.task = row.number(1),
         .event = {
             .sequence = row.number(0), .at = row.number(2), .type = row.text(3), .payload = *std::move(payload)}});
  }
  return transaction.finish(std::move(events));
}

std::expected<std::uint64_t, Error> Tasks::lastSequence() {
  Database::Transaction transaction(database_, false);
  std::uint64_t last = 0;
  if (auto row = database_.query("SELECT max(sequence) FROM events"); row.next()) last = row.number(0);
  return transaction.finish(last);
}

}  // namespace coffer::store
