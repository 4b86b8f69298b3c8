#include "clients.hpp"

#include <map>

#include <sdbus-c++/sdbus-c++.h>

#include "agent_proxy.hpp"
#include "dbus/names.hpp"
#include "manager_proxy.hpp"
#include "project_proxy.hpp"
#include "provider_proxy.hpp"
#include "task_proxy.hpp"

namespace coffer::cli {

namespace {

namespace generated = org::cofferdam::Cofferdam1;

sdbus::ServiceName service() { return sdbus::ServiceName(std::string(names::kBus)); }

/// A generated proxy with the one standard call that it does not have.
template <typename Interface>
class Client : public sdbus::ProxyInterfaces<Interface> {
 public:
  Client(sdbus::IConnection& bus, const sdbus::ObjectPath& path)
      : sdbus::ProxyInterfaces<Interface>(bus, service(), sdbus::ObjectPath(path)) {}

  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  virtual ~Client() = default;

  Dictionary properties() {
    Dictionary result;
    this->getProxy()
        .callMethod("GetAll")
        .onInterface(std::string(names::kProperties))
        .withArguments(std::string(Interface::INTERFACE_NAME))
        .storeResultsTo(result);
    return result;
  }
};

}  // namespace

struct TaskClient::Proxy : Client<generated::Task_proxy> {
  using Client::Client;
};

TaskClient::TaskClient(sdbus::IConnection& bus, const sdbus::ObjectPath& path)
    : path_(path), proxy_(std::make_unique<Proxy>(bus, path)) {}
TaskClient::~TaskClient() = default;

Dictionary TaskClient::properties() { return proxy_->properties(); }
void TaskClient::acceptPlan(const std::string& digest, const Dictionary& options) {
  proxy_->AcceptPlan(digest, options);
}
std::string TaskClient::acceptWork(const std::string& digest, const Dictionary& options) {
  return proxy_->AcceptWork(digest, options);
}
void TaskClient::reply(const std::string& text, const Dictionary& options) { proxy_->Reply(text, options); }
void TaskClient::retry(const Dictionary& options) { proxy_->Retry(options); }
void TaskClient::cancel(const Dictionary& options) { proxy_->Cancel(options); }
void TaskClient::erase(const Dictionary& options) { proxy_->Delete(options); }
std::tuple<std::string, std::uint64_t, std::string> TaskClient::readText(const std::string& what, std::uint64_t offset,
                                                                         std::uint32_t limit,
                                                                         const Dictionary& options) {
  return proxy_->ReadText(what, offset, limit, options);
}
std::vector<Dictionary> TaskClient::listRuns() { return proxy_->ListRuns({}); }
std::vector<Dictionary> TaskClient::listFindings() { return proxy_->ListFindings({}); }
void TaskClient::wait(std::uint64_t afterSequence, std::uint64_t timeout) { proxy_->Wait(afterSequence, timeout); }

struct ProjectClient::Proxy : Client<generated::Project_proxy> {
  using Client::Client;
};

ProjectClient::ProjectClient(sdbus::IConnection& bus, const sdbus::ObjectPath& path)
    : proxy_(std::make_unique<Proxy>(bus, path)) {}
ProjectClient::~ProjectClient() = default;

Dictionary ProjectClient::properties() { return proxy_->properties(); }
void ProjectClient::set(const Dictionary& options) { proxy_->Set(options); }
void ProjectClient::remove(const Dictionary& options) { proxy_->Remove(options); }

struct ProviderClient::Proxy : Client<generated::Provider_proxy> {
  using Client::Client;
};

ProviderClient::ProviderClient(sdbus::IConnection& bus, const sdbus::ObjectPath& path)
    : proxy_(std::make_unique<Proxy>(bus, path)) {}
ProviderClient::~ProviderClient() = default;

Dictionary ProviderClient::properties() { return proxy_->properties(); }
void ProviderClient::setKey(const sdbus::UnixFd& key, const Dictionary& options) { proxy_->SetKey(key, options); }
void ProviderClient::set(const Dictionary& options) { proxy_->Set(options); }
void ProviderClient::remove(const Dictionary& options) { proxy_->Remove(options); }

struct AgentClient::Proxy : Client<generated::Agent_proxy> {
  using Client::Client;
};

AgentClient::AgentClient(sdbus::IConnection& bus, const sdbus::ObjectPath& path)
    : proxy_(std::make_unique<Proxy>(bus, path)) {}
AgentClient::~AgentClient() = default;

Dictionary AgentClient::test(const Dictionary& options) { return proxy_->Test(options); }

struct ManagerClient::Proxy : Client<generated::Manager_proxy> {
  explicit Proxy(sdbus::IConnection& bus) : Client(bus, sdbus::ObjectPath(std::string(names::kRootPath))) {}
  Proxy(const Proxy&) = delete;
  Proxy& operator=(const Proxy&) = delete;
  ~Proxy() override { unregisterProxy(); }

  void onTaskChanged(const std::uint64_t& task, const std::uint64_t&) override { changed(task); }
  void onEvent(const std::uint64_t&, const std::uint64_t& task, const std::uint64_t&, const std::string&,
               const Dictionary&) override {
    changed(task);
  }

  std::vector<ObjectEntry> objects(std::string_view interface) {
    std::map<sdbus::ObjectPath, std::map<std::string, Dictionary>> all;
    getProxy().callMethod("GetManagedObjects").onInterface(std::string(names::kObjectManager)).storeResultsTo(all);
    std::vector<ObjectEntry> result;
    for (auto& [path, interfaces] : all)
      if (auto found = interfaces.find(std::string(interface)); found != interfaces.end())
        result.push_back({path, std::move(found->second)});
    return result;
  }

  std::function<void(std::uint64_t)> changed;
};

ManagerClient::ManagerClient(sdbus::IConnection& bus) : proxy_(std::make_unique<Proxy>(bus)) {}
ManagerClient::~ManagerClient() = default;

sdbus::ObjectPath ManagerClient::addProject(const std::string& directory, const std::string& name,
                                            const Dictionary& options) {
  return proxy_->AddProject({directory.begin(), directory.end()}, name, options);
}
std::pair<sdbus::ObjectPath, std::uint64_t> ManagerClient::createTask(const sdbus::ObjectPath& project,
                                                                      const std::string& prompt,
                                                                      const Dictionary& options) {
  auto [path, id] = proxy_->CreateTask(project, prompt, options);
  return {std::move(path), id};
}
sdbus::ObjectPath ManagerClient::getTask(std::uint64_t id) { return proxy_->GetTask(id); }
sdbus::ObjectPath ManagerClient::getProject(const std::string& name) { return proxy_->GetProject(name); }
std::pair<std::vector<Dictionary>, std::uint64_t> ManagerClient::listTasks(const Dictionary& filter,
                                                                           std::uint64_t cursor, std::uint32_t limit) {
  auto [tasks, next] = proxy_->ListTasks(filter, cursor, limit);
  return {std::move(tasks), next};
}
std::pair<std::vector<EventEntry>, std::uint64_t> ManagerClient::listEvents(std::uint64_t after, std::uint32_t limit,
                                                                            const Dictionary& options) {
  const auto [rows, next] = proxy_->ListEvents(after, limit, options);
  std::vector<EventEntry> events;
  events.reserve(rows.size());
  for (const auto& [sequence, task, time, type, fields] : rows)
    events.push_back({sequence, task, time, type, fields});
  return {std::move(events), next};
}
sdbus::ObjectPath ManagerClient::addProvider(const std::string& name, const std::string& kind,
                                             const Dictionary& options) {
  return proxy_->AddProvider(name, kind, options);
}
Dictionary ManagerClient::properties() { return proxy_->properties(); }
std::vector<Dictionary> ManagerClient::checkSystem() { return proxy_->CheckSystem({}); }
std::vector<ObjectEntry> ManagerClient::objects(std::string_view interface) { return proxy_->objects(interface); }

void ManagerClient::subscribe(const Dictionary& options, std::function<void(std::uint64_t)> changed) {
  const bool first = !proxy_->changed;
  proxy_->changed = std::move(changed);
  if (first) proxy_->registerProxy();
  proxy_->Subscribe(options);
}

}  // namespace coffer::cli
