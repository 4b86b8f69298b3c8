#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "api/caller.hpp"
#include "api/views.hpp"
#include "dbus/error.hpp"
#include "os/fd.hpp"

namespace coffer::api {

/// A call that changes something: who asks, and the id under which its answer is kept so that it can be repeated
/// (empty: none). The same id of the same uid with the same operation is answered from what was kept.
struct Request {
  Caller caller;
  std::string id;
};

/// Takes the outcome of a changing call, exactly once, on the loop's thread; at once or later. Values are copied out
/// before it returns.
template <class T>
using Done = std::function<void(std::expected<T, Error>)>;
struct Nothing {};

enum class ObjectKind { Task, Project, Provider };

/// Whose an object is. What is the machine's can be seen by everyone.
struct Ownership {
  uid_t uid = 0;
  bool machine = false;
};

/// The uid of what is nobody's: no caller ever has it.
inline constexpr uid_t kNobody = static_cast<uid_t>(-1);

/// Only what a caller gave is set, so that the rest keeps its value or its default.
struct ProjectSettings {
  std::optional<std::string> authorName;
  std::optional<std::string> authorEmail;
  std::optional<Strings> build;
  std::optional<Strings> test;
  std::optional<std::uint64_t> budget;  ///< 0: none
  std::optional<std::uint32_t> rounds;
  StringMap policy;  ///< an empty value takes the entry away
  StringMap agents;  ///< likewise
};

struct TaskSettings {
  std::string flow;  ///< empty: the default one
  StringMap agents;
  StringMap policy;
  std::optional<std::string> plan;  ///< the person's own plan.md
  std::optional<std::uint32_t> rounds;
  std::optional<std::uint64_t> budget;  ///< tokens; 0: none, whatever the project has
  std::string landingStyle = "squash";  ///< or "merge"
};

struct RetrySettings {
  std::string from;  ///< plan, write, gate, review, or empty: where it stopped
  std::optional<std::uint64_t> budget;
};

struct ProviderSettings {
  std::optional<std::string> baseUrl;
  std::optional<Strings> spenders;  ///< each a user's name, or a group's after a percent sign
};

struct TaskFilter {
  std::optional<std::uint64_t> project;
  Strings states;  ///< empty: any
  std::optional<bool> waiting;
  std::optional<bool> ended;
  bool deleted = false;   ///< the lines of deleted ones too
  bool allUsers = false;  ///< otherwise the caller's own only
};

struct TaskPage {
  std::vector<TaskView> tasks;
  std::uint64_t next = 0;  ///< the cursor to continue with; 0 at the end
};

struct EventFilter {
  std::optional<std::uint64_t> task;
  bool allUsers = false;
};

/// A text of a task, whole: bytes held here, or a finished file of ours opened read-only.
struct Content {
  std::variant<std::string, Fd> bytes;
  std::string digest;  ///< "sha256:..." over exactly these bytes; for a diff the work digest
};

/// What is told while things happen. The api implements it and tells those who may know. Called on the loop's thread,
/// after the transaction that holds the change.
class Observer {
 public:
  virtual ~Observer() = default;
  /// Something of the task changed: its properties are to be read again.
  virtual void taskChanged(std::uint64_t task, std::uint64_t sequence) = 0;
  virtual void event(const EventView& event) = 0;
  virtual void objectAdded(ObjectKind kind, std::uint64_t id) = 0;
  /// The owner is given because the object can no longer be asked for.
  virtual void objectRemoved(ObjectKind kind, std::uint64_t id, Ownership owner) = 0;
  /// A project or provider changed.
  virtual void objectChanged(ObjectKind kind, std::uint64_t id) = 0;
};

/// What the bus side needs of the rest of the daemon; the engine implements it. The api has settled who the caller is,
/// that they may see the object and that polkit allows the member, and has checked types, sizes and known options.
/// Everything else (state, digests, names, limits of rows) is decided here, at the time of the call. An object that is
/// gone by then is UnknownObject. Reading returns at once; changing may take its time and must not block.
class Backend {
 public:
  virtual ~Backend() = default;

  /// Where to tell changes; null to stop. The observer outlives its being set.
  virtual void observe(Observer* observer) = 0;

  /// Called before the first call of a connection that is not root's: its user may have got a uid that another had. An
  /// error is the answer to every call that came meanwhile.
  virtual void meet(uid_t uid, Done<Nothing> done) = 0;

  // Reading. Ids have been checked for visibility, but may have gone since.
  [[nodiscard]] virtual std::optional<Ownership> owner(ObjectKind kind, std::uint64_t id) const = 0;
  /// The same of one that was removed or deleted: for the call that did it, which may come again. Anything else about
  /// it is UnknownObject.
  [[nodiscard]] virtual std::optional<Ownership> formerOwner(ObjectKind, std::uint64_t) const { return std::nullopt; }
  /// The objects for GetManagedObjects: of tasks only live ones. Of this uid (and the machine's), or everybody's.
  [[nodiscard]] virtual std::vector<std::uint64_t> objects(ObjectKind kind, std::optional<uid_t> uid) const = 0;
  [[nodiscard]] virtual ManagerView manager(const Caller& caller) const = 0;
  [[nodiscard]] virtual std::expected<TaskView, Error> task(std::uint64_t id) const = 0;
  [[nodiscard]] virtual std::expected<ProjectView, Error> project(std::uint64_t id) const = 0;
  [[nodiscard]] virtual std::expected<ProviderView, Error> provider(std::uint64_t id) const = 0;
  [[nodiscard]] virtual std::vector<AgentView> agents(const Caller& caller) const = 0;
  /// The caller's own project of that name.
  [[nodiscard]] virtual std::optional<std::uint64_t> projectByName(uid_t uid, const std::string& name) const = 0;
  /// Newest first; limit is at least 1.
  [[nodiscard]] virtual std::expected<TaskPage, Error> listTasks(const Caller& caller, const TaskFilter& filter,
                                                                 std::uint64_t cursor, std::uint32_t limit) const = 0;
  /// Oldest first, sequences greater than `after`; limit is at least 1.
  [[nodiscard]] virtual std::expected<std::vector<EventView>, Error> listEvents(const Caller& caller,
                                                                                const EventFilter& filter,
                                                                                std::uint64_t after,
                                                                                std::uint32_t limit) const = 0;
  [[nodiscard]] virtual std::expected<std::vector<RunView>, Error> listRuns(std::uint64_t task) const = 0;
  [[nodiscard]] virtual std::expected<std::vector<FindingView>, Error> listFindings(std::uint64_t task) const = 0;
  /// what: prompt, plan, question, answer, left-out, diff, gate, review, transcript, log. NotFound while there is none.
  [[nodiscard]] virtual std::expected<Content, Error> text(std::uint64_t task, const std::string& what,
                                                           std::optional<std::uint64_t> run) const = 0;
  virtual void checkSystem(const Caller& caller, Done<std::vector<CheckView>> done) = 0;

  // Changing.
  virtual void addProject(const Request& request, const std::string& directory, const std::string& name,
                          const ProjectSettings& settings, Done<std::uint64_t> done) = 0;
  virtual void setProject(const Request& request, std::uint64_t project, const ProjectSettings& settings,
                          Done<Nothing> done) = 0;
  virtual void removeProject(const Request& request, std::uint64_t project, Done<Nothing> done) = 0;
  /// The project is one that the caller may see; making a task on another's is for the backend to refuse.
  virtual void createTask(const Request& request, std::uint64_t project, const std::string& prompt,
                          const TaskSettings& settings, Done<std::uint64_t> done) = 0;
  virtual void acceptPlan(const Request& request, std::uint64_t task, const std::string& digest,
                          Done<Nothing> done) = 0;
  /// Gives the commit that will be landed.
  virtual void acceptWork(const Request& request, std::uint64_t task, const std::string& digest,
                          const std::string& branch, Done<std::string> done) = 0;
  virtual void reply(const Request& request, std::uint64_t task, const std::string& text, Done<Nothing> done) = 0;
  virtual void retryTask(const Request& request, std::uint64_t task, const RetrySettings& settings,
                         Done<Nothing> done) = 0;
  virtual void cancelTask(const Request& request, std::uint64_t task, Done<Nothing> done) = 0;
  virtual void deleteTask(const Request& request, std::uint64_t task, Done<Nothing> done) = 0;
  /// Takes minutes. model and provider may be empty.
  virtual void testAgent(const Request& request, const std::string& agent, const std::string& model,
                         const std::string& provider, Done<AgentTestView> done) = 0;
  virtual void addProvider(const Request& request, const std::string& name, const std::string& kind,
                           const std::string& baseUrl, bool machine, Done<std::uint64_t> done) = 0;
  /// The key without its line end; not empty.
  virtual void setKey(const Request& request, std::uint64_t provider, std::string key, Done<Nothing> done) = 0;
  virtual void setProvider(const Request& request, std::uint64_t provider, const ProviderSettings& settings,
                           Done<Nothing> done) = 0;
  virtual void removeProvider(const Request& request, std::uint64_t provider, Done<Nothing> done) = 0;
  virtual void reload(const Request& request, Done<Nothing> done) = 0;
};

}  // namespace coffer::api
