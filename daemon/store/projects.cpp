#include "store/projects.hpp"

#include <charconv>
#include <utility>

namespace coffer::store {

namespace {

#define COFFER_PROJECT_COLUMNS \
  "SELECT id, owner, name, directory, author_name, author_email, base, created, removed, disowned FROM projects "

Project projectOf(const Database::Query& row) {
  Project project;
  project.id = row.number(0);
  project.owner = static_cast<std::uint32_t>(row.integer(1));
  project.name = row.text(2);
  project.directory = row.text(3);
  project.authorName = row.text(4);
  project.authorEmail = row.text(5);
  project.base = row.text(6);
  project.created = row.number(7);
  project.removed = row.integer(8) != 0;
  project.disowned = row.integer(9) != 0;
  return project;
}

std::uint64_t decimal(const std::string& text) {
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

Error unknown(std::uint64_t id) {
  return {ErrorCode::UnknownObject, "There is no project " + std::to_string(id) + "."};
}

}  // namespace

void Projects::refuseTaken(const Project& project) {
  if (database_
          .query("SELECT 1 FROM projects WHERE owner = ? AND name = ? AND removed = 0 AND disowned = 0 AND id <> ?",
                 project.owner, project.name, project.id)
          .next())
    database_.fail({ErrorCode::NameTaken, "You have a project named " + project.name + " already. Take another name."});
}

void Projects::writeSettings(const Project& project) {
  database_.run("DELETE FROM project_settings WHERE project = ?", project.id);
  const auto write = [&](std::string_view kind, std::size_t position, const std::string& name,
                         const std::string& value) {
    database_.run("INSERT INTO project_settings (project, kind, position, name, value) VALUES (?, ?, ?, ?, ?)",
                  project.id, kind, position, name, value);
  };
  for (std::size_t at = 0; at < project.build.size(); ++at)
    write("build", at, "", project.build[at]);
  for (std::size_t at = 0; at < project.test.size(); ++at)
    write("test", at, "", project.test[at]);
  for (const auto& [name, value] : project.policy)
    write("policy", 0, name, value);
  for (const auto& [name, value] : project.agents)
    write("agent", 0, name, value);
  for (const auto& [name, value] : project.networks)
    write("network", 0, name, value);
  if (project.budget != 0) write("budget", 0, "", std::to_string(project.budget));
  if (project.rounds) write("rounds", 0, "", std::to_string(*project.rounds));
}

void Projects::readSettings(Project& project) {
  auto row = database_.query(
      "SELECT kind, name, value FROM project_settings WHERE project = ? ORDER BY kind, position, name", project.id);
  while (row.next()) {
    const std::string kind = row.text(0);
    if (kind == "build")
      project.build.push_back(row.text(2));
    else if (kind == "test")
      project.test.push_back(row.text(2));
    else if (kind == "policy")
      project.policy[row.text(1)] = row.text(2);
    else if (kind == "agent")
      project.agents[row.text(1)] = row.text(2);
    else if (kind == "network")
      project.networks[row.text(1)] = row.text(2);
    else if (kind == "budget")
      project.budget = decimal(row.text(2));
    else if (kind == "rounds")
      project.rounds = static_cast<std::uint32_t>(decimal(row.text(2)));
  }
}

std::expected<std::uint64_t, Error> Projects::add(const Project& project) {
  Database::Transaction transaction(database_);
  refuseTaken(project);
  database_.run(
      "INSERT INTO projects (owner, name, directory, author_name, author_email, base, created) VALUES (?, ?, ?, ?, ?, "
      "?, ?)",
      project.owner, project.name, Bytes{project.directory}, project.authorName, project.authorEmail, project.base,
      project.created);
  Project made = project;
  made.id = static_cast<std::uint64_t>(database_.inserted());
  writeSettings(made);
  return transaction.finish(made.id);
}

std::expected<void, Error> Projects::set(const Project& project) {
  Database::Transaction transaction(database_);
  refuseTaken(project);
  database_.run(
      "UPDATE projects SET name = ?, directory = ?, author_name = ?, author_email = ?, base = ? WHERE id = ? AND "
      "removed = 0",
      project.name, Bytes{project.directory}, project.authorName, project.authorEmail, project.base, project.id);
  if (!database_.failed() && database_.changed() == 0) database_.fail(unknown(project.id));
  writeSettings(project);
  return transaction.finish();
}

std::expected<void, Error> Projects::setBase(std::uint64_t id, const std::string& commit) {
  Database::Transaction transaction(database_);
  database_.run("UPDATE projects SET base = ? WHERE id = ? AND removed = 0", commit, id);
  return transaction.finish();
}

std::expected<void, Error> Projects::remove(std::uint64_t id) {
  Database::Transaction transaction(database_);
  if (auto row = database_.query("SELECT id FROM tasks WHERE project = ? AND ended = 0 LIMIT 1", id); row.next())
    database_.fail({ErrorCode::Busy,
                    "Task " + row.text(0) + " of this project has not ended. Cancel it first, or wait for its end."});
  database_.run("UPDATE projects SET removed = 1 WHERE id = ? AND removed = 0", id);
  if (!database_.failed() && database_.changed() == 0) database_.fail(unknown(id));
  return transaction.finish();
}

std::expected<Project, Error> Projects::get(std::uint64_t id) {
  Database::Transaction transaction(database_, false);
  Project project;
  {
    auto row = database_.query(COFFER_PROJECT_COLUMNS "WHERE id = ?", id);
    if (row.next())
      project = projectOf(row);
    else
      database_.fail(unknown(id));
  }
  readSettings(project);
  return transaction.finish(std::move(project));
}

std::expected<bool, Error> Projects::isDisowned(std::uint64_t id) {
  Database::Transaction transaction(database_, false);
  bool disowned = true;
  if (auto row = database_.query("SELECT disowned FROM projects WHERE id = ?", id); row.next())
    disowned = row.integer(0) != 0;
  else
    database_.fail(unknown(id));
  return transaction.finish(disowned);
}

std::expected<std::optional<std::uint64_t>, Error> Projects::byName(std::uint32_t owner, const std::string& name) {
  Database::Transaction transaction(database_, false);
  std::optional<std::uint64_t> id;
  if (auto row = database_.query(
          "SELECT id FROM projects WHERE owner = ? AND name = ? AND removed = 0 AND disowned = 0", owner, name);
      row.next())
    id = row.number(0);
  return transaction.finish(id);
}

std::expected<std::vector<Project>, Error> Projects::list(std::optional<std::uint32_t> owner) {
  Database::Transaction transaction(database_, false);
  std::vector<Project> projects;
  {
    auto row = database_.query(COFFER_PROJECT_COLUMNS
                               "WHERE removed = 0 AND (?1 IS NULL OR (owner = ?1 AND disowned = 0)) ORDER BY id",
                               owner);
    while (row.next())
      projects.push_back(projectOf(row));
  }
  for (auto& project : projects)
    readSettings(project);
  return transaction.finish(std::move(projects));
}

}  // namespace coffer::store
