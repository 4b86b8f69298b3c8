#include "store/runs.hpp"

#include <utility>

namespace coffer::store {

namespace {

#define COFFER_RUN_COLUMNS                                                                                           \
  "SELECT id, task, step, kind, role, agent, model, round, attempt, unit, conversation, uid, boot, started, ended, " \
  "result, "                                                                                                         \
  "code, status, invocation, text, input, cached, output, reasoning, requests, cost, wall FROM runs "

Run runOf(const Database::Query& row) {
  Run run;
  run.id = row.number(0);
  run.start = {.task = row.number(1),
               .step = row.text(2),
               .kind = row.text(3),
               .role = row.text(4),
               .agent = row.text(5),
               .model = row.text(6),
               .round = row.number(7),
               .attempt = row.number(8),
               .unit = row.text(9),
               .conversation = row.number(10),
               .uid = static_cast<std::uint32_t>(row.integer(11)),
               .boot = row.text(12),
               .started = row.number(13)};
  run.end = {.run = run.id,
             .ended = row.number(14),
             .result = row.text(15),
             .code = static_cast<int>(row.integer(16)),
             .status = static_cast<int>(row.integer(17)),
             .invocation = row.text(18),
             .text = row.text(19),
             .usage = {.input = row.integer(20),
                       .cached = row.integer(21),
                       .output = row.integer(22),
                       .reasoning = row.integer(23),
                       .requests = row.integer(24),
                       .costMicro = row.integer(25),
                       .wallMicros = row.integer(26)}};
  return run;
}

std::vector<Run> all(Database::Query rows) {
  std::vector<Run> runs;
  while (rows.next())
    runs.push_back(runOf(rows));
  return runs;
}

}  // namespace

std::expected<std::uint64_t, Error> Runs::begin(const RunStart& start) {
  Database::Transaction transaction(database_);
  if (database_.query("SELECT 1 FROM runs WHERE unit = ?", start.unit).next())
    database_.fail({ErrorCode::WrongState,
                    "There was a run with the unit " + start.unit + " before. This is a fault of the daemon."});
  database_.run(
      "INSERT INTO runs (task, step, kind, role, agent, model, round, attempt, unit, conversation, uid, boot, started) "
      "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
      start.task, start.step, start.kind, start.role, start.agent, start.model, start.round, start.attempt, start.unit,
      start.conversation != 0 ? std::optional(start.conversation) : std::nullopt, start.uid, start.boot, start.started);
  return transaction.finish(static_cast<std::uint64_t>(database_.inserted()));
}

std::expected<bool, Error> Runs::end(const RunEnd& end) {
  Database::Transaction transaction(database_);
  database_.run(
      "UPDATE runs SET ended = ?, result = ?, code = ?, status = ?, invocation = ?, text = ?, input = ?, cached = ?, "
      "output = ?, "
      "reasoning = ?, requests = ?, cost = ?, wall = ? WHERE id = ? AND ended = 0",
      end.ended, end.result, end.code, end.status, end.invocation, end.text, end.usage.input, end.usage.cached,
      end.usage.output, end.usage.reasoning, end.usage.requests, end.usage.costMicro, end.usage.wallMicros, end.run);
  const bool counts = database_.changed() == 1;
  if (!counts && !database_.query("SELECT 1 FROM runs WHERE id = ?", end.run).next())
    database_.fail({ErrorCode::NotFound, "There is no run " + std::to_string(end.run) + " that could have ended."});
  return transaction.finish(counts);
}

std::expected<std::optional<Run>, Error> Runs::byUnit(const std::string& unit) {
  Database::Transaction transaction(database_, false);
  auto runs = all(database_.query(COFFER_RUN_COLUMNS "WHERE unit = ?", unit));
  return transaction.finish(runs.empty() ? std::nullopt : std::optional(std::move(runs.front())));
}

std::expected<std::vector<Run>, Error> Runs::ofTask(std::uint64_t task) {
  Database::Transaction transaction(database_, false);
  return transaction.finish(all(database_.query(COFFER_RUN_COLUMNS "WHERE task = ? ORDER BY id", task)));
}

}  // namespace coffer::store
