#pragma once

#include "api/backend.hpp"

namespace coffer::api::test {

/// Nothing in it: every list is empty, nothing is found, every change is refused. What fakes start from.
class EmptyBackend : public Backend {
 public:
  void observe(Observer*) override {}
  void meet(uid_t, Done<Nothing> done) override { done(Nothing{}); }
  std::optional<Ownership> owner(ObjectKind, std::uint64_t) const override { return std::nullopt; }
  std::vector<std::uint64_t> objects(ObjectKind, std::optional<uid_t>) const override { return {}; }
  ManagerView manager(const Caller&) const override { return {}; }
  std::expected<TaskView, Error> task(std::uint64_t) const override { return unknown(); }
  std::expected<ProjectView, Error> project(std::uint64_t) const override { return unknown(); }
  std::expected<ProviderView, Error> provider(std::uint64_t) const override { return unknown(); }
  std::vector<AgentView> agents(const Caller&) const override { return {}; }
  std::optional<std::uint64_t> projectByName(uid_t, const std::string&) const override { return std::nullopt; }
  std::expected<TaskPage, Error> listTasks(const Caller&, const TaskFilter&, std::uint64_t,
                                           std::uint32_t) const override {
    return TaskPage{};
  }
  std::expected<std::vector<EventView>, Error> listEvents(const Caller&, const EventFilter&, std::uint64_t,
                                                          std::uint32_t) const override {
    return std::vector<EventView>{};
  }
  std::expected<std::vector<RunView>, Error> listRuns(std::uint64_t) const override { return unknown(); }
  std::expected<std::vector<FindingView>, Error> listFindings(std::uint64_t) const override { return unknown(); }
  std::expected<Content, Error> text(std::uint64_t, const std::string&, std::optional<std::uint64_t>) const override {
    return unknown();
  }
  void checkSystem(const Caller&, Done<std::vector<CheckView>> done) override { done(std::vector<CheckView>{}); }
  void addProject(const Request&, const std::string&, const std::string&, const ProjectSettings&,
                  Done<std::uint64_t> done) override {
    done(refused());
  }
  void setProject(const Request&, std::uint64_t, const ProjectSettings&, Done<Nothing> done) override {
    done(refused());
  }
  void removeProject(const Request&, std::uint64_t, Done<Nothing> done) override { done(refused()); }
  void createTask(const Request&, std::uint64_t, const std::string&, const TaskSettings&,
                  Done<std::uint64_t> done) override {
    done(refused());
  }
  void acceptPlan(const Request&, std::uint64_t, const std::string&, Done<Nothing> done) override { done(refused()); }
  void acceptWork(const Request&, std::uint64_t, const std::string&, const std::string&,
                  Done<std::string> done) override {
    done(refused());
  }
  void reply(const Request&, std::uint64_t, const std::string&, Done<Nothing> done) override { done(refused()); }
  void retryTask(const Request&, std::uint64_t, const RetrySettings&, Done<Nothing> done) override { done(refused()); }
  void cancelTask(const Request&, std::uint64_t, Done<Nothing> done) override { done(refused()); }
  void deleteTask(const Request&, std::uint64_t, Done<Nothing> done) override { done(refused()); }
  void testAgent(const Request&, const std::string&, const std::string&, const std::string&,
                 Done<AgentTestView> done) override {
    done(refused());
  }
  void addProvider(const Request&, const std::string&, const std::string&, const std::string&, bool,
                   Done<std::uint64_t> done) override {
    done(refused());
  }
  void setKey(const Request&, std::uint64_t, std::string, Done<Nothing> done) override { done(refused()); }
  void setProvider(const Request&, std::uint64_t, const ProviderSettings&, Done<Nothing> done) override {
    done(refused());
  }
  void removeProvider(const Request&, std::uint64_t, Done<Nothing> done) override { done(refused()); }
  void reload(const Request&, Done<Nothing> done) override { done(Nothing{}); }

 private:
  static std::unexpected<Error> unknown() {
    return std::unexpected(Error{ErrorCode::UnknownObject, "there is no such object"});
  }
  static std::unexpected<Error> refused() {
    return std::unexpected(Error{ErrorCode::Internal, "nothing is changed here"});
  }
};

}  // namespace coffer::api::test
