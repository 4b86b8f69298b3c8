#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <sdbus-c++/Types.h>

#include "dictionary.hpp"

namespace sdbus {
class IConnection;
}

/// The objects of the bus as their interface files describe them: one method a member, same names, same order of
/// arguments. Calls block and throw sdbus::Error. The generated proxies are used in the implementation only, because
/// they are slow to compile.
namespace coffer::cli {

class TaskClient {
 public:
  TaskClient(sdbus::IConnection& bus, const sdbus::ObjectPath& path);
  TaskClient(const TaskClient&) = delete;
  TaskClient& operator=(const TaskClient&) = delete;
  ~TaskClient();

  [[nodiscard]] const sdbus::ObjectPath& path() const { return path_; }
  Dictionary properties();
  void acceptPlan(const std::string& digest, const Dictionary& options);
  std::string acceptWork(const std::string& digest, const Dictionary& options);
  void reply(const std::string& text, const Dictionary& options);
  void retry(const Dictionary& options);
  void cancel(const Dictionary& options);
  void erase(const Dictionary& options);  ///< Delete
  /// Text, where the next piece begins (0: this was the last), digest of the whole.
  std::tuple<std::string, std::uint64_t, std::string> readText(const std::string& what, std::uint64_t offset,
                                                               std::uint32_t limit, const Dictionary& options);
  std::vector<Dictionary> listRuns();
  std::vector<Dictionary> listFindings();
  /// `timeout` in microseconds.
  void wait(std::uint64_t afterSequence, std::uint64_t timeout);

 private:
  struct Proxy;
  sdbus::ObjectPath path_;
  std::unique_ptr<Proxy> proxy_;
};

class ProjectClient {
 public:
  ProjectClient(sdbus::IConnection& bus, const sdbus::ObjectPath& path);
  ProjectClient(const ProjectClient&) = delete;
  ProjectClient& operator=(const ProjectClient&) = delete;
  ~ProjectClient();

  Dictionary properties();
  void set(const Dictionary& options);
  void remove(const Dictionary& options);

 private:
  struct Proxy;
  std::unique_ptr<Proxy> proxy_;
};

class ProviderClient {
 public:
  ProviderClient(sdbus::IConnection& bus, const sdbus::ObjectPath& path);
  ProviderClient(const ProviderClient&) = delete;
  ProviderClient& operator=(const ProviderClient&) = delete;
  ~ProviderClient();

  Dictionary properties();
  void setKey(const sdbus::UnixFd& key, const Dictionary& options);
  void set(const Dictionary& options);
  void remove(const Dictionary& options);

 private:
  struct Proxy;
  std::unique_ptr<Proxy> proxy_;
};

class AgentClient {
 public:
  AgentClient(sdbus::IConnection& bus, const sdbus::ObjectPath& path);
  AgentClient(const AgentClient&) = delete;
  AgentClient& operator=(const AgentClient&) = delete;
  ~AgentClient();

  Dictionary test(const Dictionary& options);

 private:
  struct Proxy;
  std::unique_ptr<Proxy> proxy_;
};

/// One entry of ListEvents.
struct EventEntry {
  std::uint64_t sequence = 0;
  std::uint64_t task = 0;
  std::uint64_t time = 0;  ///< microseconds of CLOCK_REALTIME
  std::string type;
  Dictionary fields;
};

/// An object of GetManagedObjects and the properties of one of its interfaces.
struct ObjectEntry {
  sdbus::ObjectPath path;
  Dictionary properties;
};

class ManagerClient {
 public:
  explicit ManagerClient(sdbus::IConnection& bus);
  ManagerClient(const ManagerClient&) = delete;
  ManagerClient& operator=(const ManagerClient&) = delete;
  ~ManagerClient();

  sdbus::ObjectPath addProject(const std::string& directory, const std::string& name, const Dictionary& options);
  std::pair<sdbus::ObjectPath, std::uint64_t> createTask(const sdbus::ObjectPath& project, const std::string& prompt,
                                                         const Dictionary& options);
  sdbus::ObjectPath getTask(std::uint64_t id);
  sdbus::ObjectPath getProject(const std::string& name);
  /// Tasks, and the cursor to go on with (0: these were the last).
  std::pair<std::vector<Dictionary>, std::uint64_t> listTasks(const Dictionary& filter, std::uint64_t cursor,
                                                              std::uint32_t limit);
  /// Events, and the sequence to go on after.
  std::pair<std::vector<EventEntry>, std::uint64_t> listEvents(std::uint64_t after, std::uint32_t limit,
                                                               const Dictionary& options);
  sdbus::ObjectPath addProvider(const std::string& name, const std::string& kind, const Dictionary& options);
  Dictionary properties();
  /// Each entry: name, state (ok, warning, failed), text, problem, remedy.
  std::vector<Dictionary> checkSystem();
  /// Every object the caller may see that has this interface, in the order of their paths.
  std::vector<ObjectEntry> objects(std::string_view interface);

  /// Calls `changed` with the number of every task that changes, from Connection::process(); then subscribes with
  /// `options`. To be called again when the service was away.
  void subscribe(const Dictionary& options, std::function<void(std::uint64_t task)> changed);

 private:
  struct Proxy;
  std::unique_ptr<Proxy> proxy_;
};

}  // namespace coffer::cli
