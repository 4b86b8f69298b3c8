#pragma once

#include "api/backend.hpp"
#include "api/interface.hpp"
#include "api/waits.hpp"

namespace coffer::api {

class TaskInterface : public ViewInterface<TaskView> {
 public:
  TaskInterface(Backend& backend, Waits& waits);

 protected:
  std::expected<TaskView, Error> read(const Caller& caller, const Object& object) const override;

 private:
  void addProperties();
  void addMethods();
  void readText(const CallPointer& call);
  void open(const CallPointer& call);
  [[nodiscard]] std::expected<Content, Error> content(const Call& call, const std::string& what,
                                                      Dictionary values) const;

  Backend& backend_;
  Waits& waits_;
};

}  // namespace coffer::api
