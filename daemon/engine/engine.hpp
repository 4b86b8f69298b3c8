#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>

#include "agents/configuration.hpp"
#include "agents/data_set.hpp"
#include "agents/flow_file.hpp"
#include "api/backend.hpp"
#include "engine/accounts.hpp"
#include "engine/canary.hpp"
#include "engine/context.hpp"
#include "engine/key_vault.hpp"
#include "engine/scheduler.hpp"
#include "engine/system_check.hpp"
#include "workers/record.hpp"

namespace coffer::engine {

/// The daemon behind its bus: projects, providers, tasks, and what the machine's files say. Everything that changes
/// goes through the store before anything acts on it. One thread; the bus and the event loop outlive it.
class Engine : public api::Backend {
 public:
  Engine(sd_event* event, sd_bus* bus);
  ~Engine() override;

  /// Opens the store, finds coffer-walls, reads the machine's files, and goes on with what was open. An error here is
  /// one that the daemon must not run with.
  std::expected<void, Error> start();

  void meet(uid_t uid, api::Done<api::Nothing> done) override;
  void observe(api::Observer* observer) override { observer_ = observer; }

  [[nodiscard]] std::optional<api::Ownership> owner(api::ObjectKind kind, std::uint64_t id) const override;
  [[nodiscard]] std::optional<api::Ownership> formerOwner(api::ObjectKind kind, std::uint64_t id) const override;
  [[nodiscard]] std::vector<std::uint64_t> objects(api::ObjectKind kind, std::optional<uid_t> uid) const override;
  [[nodiscard]] api::ManagerView manager(const api::Caller& caller) const override;
  [[nodiscard]] std::expected<api::TaskView, Error> task(std::uint64_t id) const override;
  [[nodiscard]] std::expected<api::ProjectView, Error> project(std::uint64_t id) const override;
  [[nodiscard]] std::expected<api::ProviderView, Error> provider(std::uint64_t id) const override;
  [[nodiscard]] std::vector<api::AgentView> agents(const api::Caller& caller) const override;
  [[nodiscard]] std::optional<std::uint64_t> projectByName(uid_t uid, const std::string& name) const override;
  [[nodiscard]] std::expected<api::TaskPage, Error> listTasks(const api::Caller& caller, const api::TaskFilter& filter,
                                                              std::uint64_t cursor, std::uint32_t limit) const override;
  [[nodiscard]] std::expected<std::vector<api::EventView>, Error> listEvents(const api::Caller& caller,
                                                                             const api::EventFilter& filter,
                                                                             std::uint64_t after,
                                                                             std::uint32_t limit) const override;
  [[nodiscard]] std::expected<std::vector<api::RunView>, Error> listRuns(std::uint64_t task) const override;
  [[nodiscard]] std::expected<std::vector<api::FindingView>, Error> listFindings(std::uint64_t task) const override;
  [[nodiscard]] std::expected<api::Content, Error> text(std::uint64_t task, const std::string& what,
                                                        std::optional<std::uint64_t> run) const override;
  void checkSystem(const api::Caller& caller, api::Done<std::vector<api::CheckView>> done) override;

  void addProject(const api::Request& request, const std::string& directory, const std::string& name,
                  const api::ProjectSettings& settings, api::Done<std::uint64_t> done) override;
  void setProject(const api::Request& request, std::uint64_t project, const api::ProjectSettings& settings,
                  api::Done<api::Nothing> done) override;
  void removeProject(const api::Request& request, std::uint64_t project, api::Done<api::Nothing> done) override;
  void createTask(const api::Request& request, std::uint64_t project, const std::string& prompt,
                  const api::TaskSettings& settings, api::Done<std::uint64_t> done) override;
  void acceptPlan(const api::Request& request, std::uint64_t task, const std::string& digest,
                  api::Done<api::Nothing> done) override;
  void acceptWork(const api::Request& request, std::uint64_t task, const std::string& digest, const std::string& branch,
                  api::Done<std::string> done) override;
  void reply(const api::Request& request, std::uint64_t task, const std::string& text,
             api::Done<api::Nothing> done) override;
  void retryTask(const api::Request& request, std::uint64_t task, const api::RetrySettings& settings,
                 api::Done<api::Nothing> done) override;
  void cancelTask(const api::Request& request, std::uint64_t task, api::Done<api::Nothing> done) override;
  void deleteTask(const api::Request& request, std::uint64_t task, api::Done<api::Nothing> done) override;
  void testAgent(const api::Request& request, const std::string& agent, const std::string& model,
                 const std::string& provider, api::Done<api::AgentTestView> done) override;
  void addProvider(const api::Request& request, const std::string& name, const std::string& kind,
                   const std::string& baseUrl, bool machine, api::Done<std::uint64_t> done) override;
  void setKey(const api::Request& request, std::uint64_t provider, std::string key,
              api::Done<api::Nothing> done) override;
  void setProvider(const api::Request& request, std::uint64_t provider, const api::ProviderSettings& settings,
                   api::Done<api::Nothing> done) override;
  void removeProvider(const api::Request& request, std::uint64_t provider, api::Done<api::Nothing> done) override;
  void reload(const api::Request& request, api::Done<api::Nothing> done) override;

 private:
  [[nodiscard]] Settings settings() const { return {&configuration_, &agents_, &providers_, &prompts_, &risky_}; }
  Detached goOn();
  /// Waits until what an earlier daemon left is gone. What is started for a call has no task that keeps the sweep from
  /// it.
  Async<Done> swept();
  [[nodiscard]] uid_t ownerOf(const model::Task& task) const;
  void readFiles();
  [[nodiscard]] std::vector<std::string> configurationProblems() const;
  Detached checkSystemNow(api::Caller caller, api::Done<std::vector<api::CheckView>> done);
  /// What concerns one user: agents, providers, their share of the disk.
  [[nodiscard]] std::vector<Check> checksOf(const api::Caller& caller, const std::vector<gid_t>& groups) const;
  /// Says what of our uids others have as well, by the machine's files at once and by its name service in the end.
  Async<Done> checkUids();
  /// Reads the names of those who may spend the machine's keys anew.
  Async<Done> learnNames();
  Detached reloadNow(api::Request request, api::Done<api::Nothing> done);
  Detached meetNow(uid_t uid, api::Done<api::Nothing> done);
  /// Who has the uid now is not who had it: nothing of the former user's is theirs.
  std::expected<void, Error> disown(uid_t uid, const std::string& was, const std::string& now);
  /// Compares the owners that the store knows with those of the machine.
  Async<Done> meetOwners();
  /// The name of who called, to be remembered with what becomes theirs.
  std::expected<void, Error> rememberOwner(uid_t uid);
  std::expected<void, Error> applyRules();
  /// Where gateways may go: the machine's files first, then everybody's providers.
  [[nodiscard]] std::expected<std::vector<std::string>, Error> baseUrls() const;
  /// Limit when the host's table has no room for the port of one more.
  [[nodiscard]] std::expected<void, Error> roomFor(const std::string& baseUrl) const;
  [[nodiscard]] const agents::ProviderFile* providerFile(const std::string& kind, const std::string& baseUrl) const;
  std::expected<void, Error> machineCanSeal() const;
  std::expected<std::map<model::Role, std::string>, Error> bindings(const model::Flow& flow,
                                                                    const store::Project& project,
                                                                    const api::StringMap& asked,
                                                                    const std::vector<gid_t>& groups) const;
  [[nodiscard]] std::expected<std::optional<std::string>, Error> answered(const api::Request& request,
                                                                          const std::string& operation) const;
  struct Answer {
    std::string text;
    bool again = false;  ///< kept from an earlier call; nothing was changed now
  };
  /// Does a change and keeps its answer, both in one transaction or neither.
  std::expected<Answer, Error> once(const api::Request& request, const std::string& operation,
                                    const std::function<std::expected<std::string, Error>()>& change);
  /// Whether it is gone, now or before: only then may its files go.
  bool abandonProject(const store::Project& project);
  void removeProjectFiles(std::uint64_t id);
  void tellAdded(std::uint64_t project, api::Done<std::uint64_t> done);
  /// Limit when the user has as many as one may. Asked again where one is stored: a call waits in between.
  [[nodiscard]] std::expected<void, Error> roomForProject(std::uint32_t owner) const;
  [[nodiscard]] std::expected<void, Error> roomForTask(std::uint32_t owner) const;
  [[nodiscard]] std::expected<void, Error> checkAgents(const api::StringMap& named) const;
  Detached addProjectNow(api::Request request, store::Project project, api::Done<std::uint64_t> done);
  Async<std::expected<model::PlanDraft, Error>> checkPlan(const model::Created& task, std::string plan);
  Detached createTaskFor(api::Request request, std::uint64_t project, std::string prompt, api::TaskSettings settings,
                         api::Done<std::uint64_t> done);
  Detached setProviderNow(api::Request request, std::uint64_t provider, api::ProviderSettings settings,
                          api::Done<api::Nothing> done);
  Detached createTaskNow(api::Request request, model::Created fact, std::string prompt, std::optional<std::string> plan,
                         api::Done<std::uint64_t> done);
  Detached testAgentNow(std::uint32_t user, std::string binding, api::Done<api::AgentTestView> done);
  Detached setKeyNow(api::Request request, std::uint64_t provider, std::string key, api::Done<api::Nothing> done);
  std::expected<std::string, Error> decide(const api::Request& request, std::uint64_t task, const char* operation,
                                           const model::Fact& fact, const std::vector<std::string>& texts = {});
  void told(const model::Task& before, const model::Task& after, const std::vector<model::Event>& events);

  sd_bus* bus_;
  Context context_;
  model::UidRanges ranges_;
  std::unique_ptr<sandbox::Systemd> systemd_;
  std::unique_ptr<walls::WallsClient> walls_;
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<NameService> names_;
  std::unique_ptr<KeyVault> keys_;
  std::unique_ptr<Canary> canary_;
  std::unique_ptr<SystemCheck> systemCheck_;
  std::unique_ptr<Scheduler> scheduler_;
  api::Observer* observer_ = nullptr;
  AccountNames accountNames_;                     ///< of those who may spend the machine's keys
  std::map<std::uint32_t, std::string> callers_;  ///< names of those whose connections were met
  std::optional<Check> uidsOfOthers_;             ///< what the name service said last
  bool isSwept_ = false;
  std::vector<Completion<Done>> untilSwept_;
  std::map<std::uint64_t, std::vector<api::Done<std::uint64_t>>> adding_;  ///< who waits for a project's first snapshot
  std::vector<std::uint64_t> abandoned_;  ///< projects that an earlier daemon did not come to add
  std::set<std::uint32_t> testing_;       ///< users who try an agent now

  agents::ConfigurationFile configuration_;
  agents::DataSet<agents::Descriptor> agents_;
  agents::DataSet<model::Flow> flows_;
  agents::DataSet<agents::ProviderFile> providers_;
  agents::DataSet<agents::PromptText> prompts_;
  agents::DataSet<agents::RiskyFile> risky_;
};

}  // namespace coffer::engine
