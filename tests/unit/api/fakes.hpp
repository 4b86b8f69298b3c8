#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "api/authority.hpp"
#include "empty_backend.hpp"

namespace coffer::api::test {

inline constexpr uid_t kAlice = 1000;
inline constexpr uid_t kBob = 1001;
inline constexpr uid_t kRoot = 0;

/// Tasks, projects and providers as a test says, and a record of what was asked of it.
class FakeBackend : public EmptyBackend {
 public:
  std::map<std::uint64_t, TaskView> tasks;
  std::map<std::uint64_t, ProjectView> projects;
  std::map<std::uint64_t, ProviderView> providers;
  std::vector<AgentView> agentList;
  std::map<std::string, Content> texts;
  std::vector<EventView> events;
  std::vector<RunView> runs;
  std::vector<FindingView> findings;
  Observer* observer = nullptr;
  std::vector<uid_t> met;
  /// When set, meet() leaves its completions in `meeting`.
  bool strangers = false;
  std::vector<Done<Nothing>> meeting;

  /// Each changing call: its name and what it was given.
  struct Change {
    std::string name;
    Request request;
    std::uint64_t object = 0;
    std::string text;
  };
  std::vector<Change> changes;
  TaskSettings taskSettings;
  ProjectSettings projectSettings;
  TaskFilter taskFilter;
  /// What was removed, of whatever kind.
  std::map<std::uint64_t, Ownership> former;
  /// An error for the next change.
  std::optional<Error> refusal;
  /// When set, createTask() leaves its completion here.
  Done<std::uint64_t>* held = nullptr;

  void observe(Observer* who) override { observer = who; }
  void meet(uid_t uid, Done<Nothing> done) override {
    met.push_back(uid);
    if (strangers)
      meeting.push_back(std::move(done));
    else
      done(Nothing{});
  }
  std::optional<Ownership> owner(ObjectKind kind, std::uint64_t id) const override {
    if (kind == ObjectKind::Task && tasks.contains(id)) return Ownership{.uid = tasks.at(id).owner};
    if (kind == ObjectKind::Project && projects.contains(id)) return Ownership{.uid = projects.at(id).owner};
    if (kind == ObjectKind::Provider && providers.contains(id))
      return Ownership{.uid = providers.at(id).owner, .machine = providers.at(id).machine};
    return std::nullopt;
  }
  std::optional<Ownership> formerOwner(ObjectKind, std::uint64_t id) const override {
    const auto found = former.find(id);
    return found == former.end() ? std::nullopt : std::optional(found->second);
  }
  std::vector<std::uint64_t> objects(ObjectKind kind, std::optional<uid_t> uid) const override {
    std::vector<std::uint64_t> ids;
    for (std::uint64_t id = 0; id < 100; ++id)
      if (const auto who = owner(kind, id); who && (!uid || who->machine || who->uid == *uid)) ids.push_back(id);
    return ids;
  }
  std::expected<TaskView, Error> task(std::uint64_t id) const override { return find(tasks, id); }
  std::expected<ProjectView, Error> project(std::uint64_t id) const override { return find(projects, id); }
  std::expected<ProviderView, Error> provider(std::uint64_t id) const override { return find(providers, id); }
  std::vector<AgentView> agents(const Caller&) const override { return agentList; }
  std::optional<std::uint64_t> projectByName(uid_t uid, const std::string& name) const override {
    for (const auto& [id, view] : projects)
      if (view.owner == uid && view.name == name) return id;
    return std::nullopt;
  }
  std::expected<TaskPage, Error> listTasks(const Caller& caller, const TaskFilter& filter, std::uint64_t,
                                           std::uint32_t) const override {
    TaskPage page;
    for (const auto& [id, view] : tasks)
      if (filter.allUsers || view.owner == caller.uid) page.tasks.push_back(view);
    return page;
  }
  std::expected<std::vector<EventView>, Error> listEvents(const Caller& caller, const EventFilter& filter,
                                                          std::uint64_t after, std::uint32_t) const override {
    std::vector<EventView> found;
    for (const auto& event : events)
      if (event.sequence > after && (filter.allUsers || tasks.at(event.task).owner == caller.uid))
        found.push_back(event);
    return found;
  }
  std::expected<std::vector<RunView>, Error> listRuns(std::uint64_t) const override { return runs; }
  std::expected<std::vector<FindingView>, Error> listFindings(std::uint64_t) const override { return findings; }
  std::expected<Content, Error> text(std::uint64_t, const std::string& what,
                                     std::optional<std::uint64_t>) const override {
    const auto found = texts.find(what);
    if (found == texts.end()) return std::unexpected(Error{ErrorCode::NotFound, "there is none"});
    return Content{.bytes = std::get<std::string>(found->second.bytes), .digest = found->second.digest};
  }
  void addProject(const Request& request, const std::string& directory, const std::string& name,
                  const ProjectSettings& settings, Done<std::uint64_t> done) override {
    projectSettings = settings;
    note<std::uint64_t>({"addProject", request, 0, directory + " " + name}, 7, done);
  }
  void createTask(const Request& request, std::uint64_t project, const std::string& prompt,
                  const TaskSettings& settings, Done<std::uint64_t> done) override {
    taskSettings = settings;
    if (held != nullptr) {
      *held = std::move(done);
      return;
    }
    note<std::uint64_t>({"createTask", request, project, prompt}, 17, done);
  }
  void acceptPlan(const Request& request, std::uint64_t id, const std::string& digest, Done<Nothing> done) override {
    note<Nothing>({"acceptPlan", request, id, digest}, {}, done);
  }
  void acceptWork(const Request& request, std::uint64_t id, const std::string& digest, const std::string& branch,
                  Done<std::string> done) override {
    note<std::string>({"acceptWork", request, id, digest + " " + branch}, "c0ffee", done);
  }
  void reply(const Request& request, std::uint64_t id, const std::string& text, Done<Nothing> done) override {
    note<Nothing>({"reply", request, id, text}, {}, done);
  }
  void retryTask(const Request& request, std::uint64_t id, const RetrySettings& settings, Done<Nothing> done) override {
    note<Nothing>({"retryTask", request, id, settings.from + " " + std::to_string(settings.budget.value_or(0))}, {},
                  done);
  }
  void cancelTask(const Request& request, std::uint64_t id, Done<Nothing> done) override {
    note<Nothing>({"cancelTask", request, id, ""}, {}, done);
  }
  void deleteTask(const Request& request, std::uint64_t id, Done<Nothing> done) override {
    note<Nothing>({"deleteTask", request, id, ""}, {}, done);
  }
  void removeProject(const Request& request, std::uint64_t id, Done<Nothing> done) override {
    note<Nothing>({"removeProject", request, id, ""}, {}, done);
  }
  void removeProvider(const Request& request, std::uint64_t id, Done<Nothing> done) override {
    note<Nothing>({"removeProvider", request, id, ""}, {}, done);
  }
  void setKey(const Request& request, std::uint64_t id, std::string key, Done<Nothing> done) override {
    note<Nothing>({"setKey", request, id, key}, {}, done);
  }
  void setProvider(const Request& request, std::uint64_t id, const ProviderSettings& settings,
                   Done<Nothing> done) override {
    std::string text = settings.baseUrl.value_or("");
    for (const auto& spender : settings.spenders.value_or(Strings{}))
      text += spender + " ";
    note<Nothing>({"setProvider", request, id, text}, {}, done);
  }
  void addProvider(const Request& request, const std::string& name, const std::string& kind, const std::string&,
                   bool machine, Done<std::uint64_t> done) override {
    note<std::uint64_t>({"addProvider", request, 0, name + " " + kind + (machine ? " machine" : "")}, 3, done);
  }

 private:
  template <class View>
  static std::expected<View, Error> find(const std::map<std::uint64_t, View>& views, std::uint64_t id) {
    const auto found = views.find(id);
    if (found == views.end()) return std::unexpected(Error{ErrorCode::UnknownObject, "gone"});
    return found->second;
  }
  template <class T>
  void note(Change change, T value, const Done<T>& done) {
    changes.push_back(std::move(change));
    if (refusal) return done(std::unexpected(*refusal));
    done(std::move(value));
  }
};

/// polkit as a test says: what is not granted is No.
class FakeAuthority : public Authority {
 public:
  std::set<std::string> granted;
  std::vector<Question> questions;
  /// When true, answers wait for answerAll().
  bool slow = false;

  void check(const Question& question, std::function<void(Verdict)> answer) override {
    questions.push_back(question);
    const auto verdict = granted.contains(question.action) ? Verdict::Yes : Verdict::No;
    if (!slow) return answer(verdict);
    waiting_.emplace_back(verdict, std::move(answer));
  }
  void answerAll() {
    for (auto& [verdict, answer] : std::exchange(waiting_, {}))
      answer(verdict);
  }
  [[nodiscard]] std::size_t waiting() const { return waiting_.size(); }

 private:
  std::vector<std::pair<Verdict, std::function<void(Verdict)>>> waiting_;
};

}  // namespace coffer::api::test
