#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "model/event.hpp"
#include "model/task.hpp"
#include "store/database.hpp"
#include "store/findings.hpp"
#include "store/requests.hpp"

namespace coffer::store {

/// What goes into the store in one transaction, or not at all.
struct Append {
  std::vector<model::Event> events;  ///< as decide() gave them
  std::vector<std::string> texts;    ///< those the events name by digest
  std::vector<Finding> findings;
  std::optional<RequestAnswer> request;
  bool fromPerson = false;  ///< refused while the disk has less left than limits::kStoreReserveBytes
};

struct Appended {
  model::Task task;                    ///< as it is now
  std::vector<model::Event> events;    ///< as stored, with their sequences
  std::optional<std::string> earlier;  ///< this request was answered before: nothing was stored now
};

/// One line of a list: what can be asked for without reading a task's events.
struct TaskRow {
  std::uint64_t id = 0;
  std::uint64_t project = 0;
  std::uint32_t owner = 0;  ///< uid; (uid_t)-1 where that uid is another person's now
  std::string title;
  std::string state;
  std::string parked;
  std::string code;
  std::uint64_t until = 0;
  std::string flow;
  std::uint64_t round = 0;
  std::uint64_t rounds = 0;
  std::string candidate;
  bool needsPerson = false;
  bool ended = false;
  bool cleaned = false;
  bool deleted = false;
  std::uint64_t created = 0;
  std::uint64_t changed = 0;
  std::uint64_t sequence = 0;
  bool operator==(const TaskRow&) const = default;
};

struct TaskFilter {
  std::optional<std::uint32_t> owner;
  std::optional<std::uint64_t> project;
  std::vector<std::string> states;  ///< empty = any
  std::optional<bool> needsPerson;
  std::optional<bool> ended;
  bool deleted = false;  ///< those that were deleted too
};

struct StoredEvent {
  std::uint64_t task = 0;
  model::Event event;
};

struct OpenStep {
  std::uint64_t task = 0;
  std::string name;
  std::string kind;
  bool operator==(const OpenStep&) const = default;
};

/// The event log and what is made from it.
class Tasks {
 public:
  Tasks(Database& database, std::string directory) : database_(database), directory_(std::move(directory)) {}

  /// An id for a task to be created, never given twice (one that is not used is lost).
  std::expected<std::uint64_t, Error> newId();

  /// Appends to the task as the caller knows it (Task{} for a new one). Errors: NoSpace; TooLarge for a text;
  /// InvalidArgument for a request id used otherwise; Stale when the task has changed since the caller read it. After
  /// an error nothing was stored.
  std::expected<Appended, Error> append(const model::Task& task, Append what);

  /// The task as its events made it. Errors: UnknownObject.
  std::expected<model::Task, Error> get(std::uint64_t id);
  /// All that have not ended or have an open step, oldest first: what a start of the daemon takes up again.
  std::expected<std::vector<model::Task>, Error> live();
  std::expected<std::vector<OpenStep>, Error> openSteps();

  /// Newest first, ids below `cursor` (0 = from the newest), without deleted ones.
  std::expected<std::vector<TaskRow>, Error> list(const TaskFilter& filter, std::uint64_t cursor, std::uint32_t limit);
  /// Deleted ones too. Errors: UnknownObject.
  std::expected<TaskRow, Error> row(std::uint64_t id);
  /// Oldest first, sequences above `after`.
  std::expected<std::vector<StoredEvent>, Error> events(std::uint64_t after, std::uint32_t limit,
                                                        std::optional<std::uint32_t> owner,
                                                        std::optional<std::uint64_t> task);
  /// The commit that last landed on a branch of a project's repository; nothing when none has.
  std::expected<std::optional<std::string>, Error> lastLanded(std::uint64_t project, const std::string& branch);
  /// Of the newest event; 0 = none yet.
  std::expected<std::uint64_t, Error> lastSequence();

  /// After a delete: takes away texts, findings, refusals and all events but the few that say what became of the task.
  std::expected<void, Error> erase(std::uint64_t id);

  /// Makes the projections again from the events.
  std::expected<void, Error> rebuildProjections();

 private:
  void project(const model::Task& task);
  model::Task replay(std::uint64_t id);
  void refuseWhenFull();

  Database& database_;
  std::string directory_;
};

}  // namespace coffer::store
