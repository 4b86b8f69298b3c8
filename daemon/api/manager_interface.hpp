#pragma once

#include <string>

#include "api/backend.hpp"
#include "api/interface.hpp"
#include "api/subscriptions.hpp"

namespace coffer::api {

class ManagerInterface : public ViewInterface<ManagerView> {
 public:
  ManagerInterface(Backend& backend, Subscriptions& subscriptions);

 protected:
  std::expected<ManagerView, Error> read(const Caller& caller, const Object& object) const override;

 private:
  void addProject(const CallPointer& call);
  void createTask(const CallPointer& call);
  void listTasks(const CallPointer& call);
  void listEvents(const CallPointer& call);
  void addProvider(const CallPointer& call);
  void subscribe(const CallPointer& call);
  void addMethods();

  /// The owner of a task if the caller may see it: otherwise it is as if it did not exist.
  [[nodiscard]] bool maySee(const Caller& caller, ObjectKind kind, std::uint64_t id) const;

  Backend& backend_;
  Subscriptions& subscriptions_;
};

}  // namespace coffer::api
