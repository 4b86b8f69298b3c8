#include "store/tasks.hpp"

#include <utility>

#include <sys/statvfs.h>

#include "model/actions.hpp"
#include "model/limits.hpp"
#include "model/spelling.hpp"
#include "store/payload_json.hpp"
#include "store/texts.hpp"

namespace coffer::store {

namespace {

Error unknown(std::uint64_t id) { return {ErrorCode::UnknownObject, "There is no task " + std::to_string(id) + "."}; }

}  // namespace

std::expected<std::uint64_t, Error> Tasks::newId() {
  Database::Transaction transaction(database_);
  std::uint64_t id = 0;
  auto row = database_.query(
      "INSERT INTO counters (name, value) VALUES ('task', 1) ON CONFLICT DO UPDATE SET value = value + 1 RETURNING "
      "value");
  while (row.next())
    id = row.number(0);
  return transaction.finish(id);
}

void Tasks::refuseWhenFull() {
  struct statvfs space{};
  if (::statvfs(directory_.c_str(), &space) != 0) return;
  if (space.f_bavail * space.f_frsize < limits::kStoreReserveBytes)
    database_.fail({ErrorCode::NoSpace,
                    "The disk that holds " + directory_ +
                        " is nearly full; the rest is kept for what runs already. Free some space, then try again."});
}

std::expected<Appended, Error> Tasks::append(const model::Task& task, Append what) {
  Database::Transaction transaction(database_);
  Appended appended{.task = task, .events = {}, .earlier = {}};
  if (what.request && !what.request->id.empty()) {
    Requests requests(database_);
    if (auto earlier = requests.find(what.request->uid, what.request->id, what.request->operation);
        earlier && *earlier) {
      appended.earlier = std::move(*earlier);
      return transaction.finish(std::move(appended));
    }
    // Errors stay in the transaction and come out of its end.
    static_cast<void>(requests.keep(*what.request));
  }
  if (what.fromPerson) refuseWhenFull();
  std::uint64_t known = 0;
  if (auto row = database_.query("SELECT sequence FROM tasks WHERE id = ?", task.id); row.next()) known = row.number(0);
  if (known != task.sequence && !what.events.empty())
    database_.fail({ErrorCode::Stale, "Task " + std::to_string(task.id) + " has changed meanwhile. Read it again."});
  for (auto& event : what.events) {
    for (auto& [name, value] : event.payload)
      if (auto* text = std::get_if<std::string>(&value)) *text = asText(*text);
    const std::uint64_t id =
        appended.task.id != 0 ? appended.task.id : static_cast<std::uint64_t>(event.number("task"));
    database_.run("INSERT INTO events (task, at, type, payload) VALUES (?, ?, ?, ?)", id, event.at, event.type,
                  toJson(event.payload));
    event.sequence = static_cast<std::uint64_t>(database_.inserted());
    model::apply(appended.task, event);
  }
  for (const auto& text : what.texts)
    static_cast<void>(Texts(database_).keep(appended.task.id, text));
  for (const auto& finding : what.findings)
    static_cast<void>(Findings(database_).add(finding));
  if (!what.events.empty()) project(appended.task);
  appended.events = std::move(what.events);
  return transaction.finish(std::move(appended));
}

void Tasks::project(const model::Task& task) {
  database_.run(
      "INSERT OR REPLACE INTO tasks (id, project, owner, title, state, parked, code, until, flow, round, rounds, "
      "candidate, "
      "needs_person, ended, cleaned, deleted, created, changed, sequence) "
      "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
      task.id, task.project, task.owner, task.title, model::spell(task.state), model::spell(task.parked.reason),
      task.parked.code, task.parked.until, task.flow.name, task.round, task.rounds, task.candidate,
      model::needsPerson(task), model::ended(task.state), task.cleaned, task.deleted, task.created, task.changed,
      task.sequence);
  if (task.step)
    database_.run("INSERT OR REPLACE INTO open_steps (task, name, kind) VALUES (?, ?, ?)", task.id, task.step->name,
                  model::spell(task.step->kind));
  else
    database_.run("DELETE FROM open_steps WHERE task = ?", task.id);
}

model::Task Tasks::replay(std::uint64_t id) {
  model::Task task;
  auto row = database_.query("SELECT sequence, at, type, payload FROM events WHERE task = ? ORDER BY sequence", id);
  while (row.next()) {
    auto payload = fromJson(row.text(3));
    if (!payload) {
      database_.fail(payload.error());
      break;
    }
    model::apply(task,
                 {.sequence = row.number(0), .at = row.number(1), .type = row.text(2), .payload = *std::move(payload)});
  }
  return task;
}

std::expected<model::Task, Error> Tasks::get(std::uint64_t id) {
  Database::Transaction transaction(database_, false);
  auto task = replay(id);
  if (task.id == 0) database_.fail(unknown(id));
  return transaction.finish(std::move(task));
}

std::expected<std::vector<model::Task>, Error> Tasks::live() {
  Database::Transaction transaction(database_, false);
  std::vector<std::uint64_t> ids;
  {
    auto row = database_.query("SELECT id FROM tasks WHERE ended = 0 UNION SELECT task FROM open_steps ORDER BY 1");
    while (row.next())
      ids.push_back(row.number(0));
  }
  std::vector<model::Task> tasks;
  for (const auto id : ids)
    tasks.push_back(replay(id));
  return transaction.finish(std::move(tasks));
}

std::expected<std::vector<OpenStep>, Error> Tasks::openSteps() {
  Database::Transaction transaction(database_, false);
  std::vector<OpenStep> steps;
  auto row = database_.query("SELECT task, name, kind FROM open_steps ORDER BY task");
  while (row.next())
    steps.push_back({.task = row.number(0), .name = row.text(1), .kind = row.text(2)});
  return transaction.finish(std::move(steps));
}

std::expected<void, Error> Tasks::erase(std::uint64_t id) {
  Database::Transaction transaction(database_);
  static_cast<void>(Texts(database_).drop(id));
  database_.run("DELETE FROM findings WHERE task = ?", id);
  database_.run("DELETE FROM refusals WHERE task = ?", id);
  database_.run("DELETE FROM runs WHERE task = ?", id);
  database_.run("DELETE FROM conversations WHERE task = ?", id);
  database_.run(
      "DELETE FROM events WHERE task = ?1 AND type NOT IN ('created', 'landed', 'done', 'failed', 'cancelled', "
      "'cleaned-up', "
      "'deleted', 'erased') AND sequence <> (SELECT max(sequence) FROM events WHERE task = ?1 AND type = "
      "'step-opened')",
      id);
  const auto task = replay(id);
  if (task.id == 0) database_.fail(unknown(id));
  project(task);
  return transaction.finish();
}

std::expected<void, Error> Tasks::rebuildProjections() {
  Database::Transaction transaction(database_);
  std::vector<std::uint64_t> ids;
  {
    auto row = database_.query("SELECT DISTINCT task FROM events");
    while (row.next())
      ids.push_back(row.number(0));
  }
  database_.run("DELETE FROM tasks");
  database_.run("DELETE FROM open_steps");
  for (const auto id : ids)
    project(replay(id));
  return transaction.finish();
}

}  // namespace coffer::store
