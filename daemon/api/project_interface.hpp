#pragma once

#include "api/backend.hpp"
#include "api/interface.hpp"

namespace coffer::api {

class ProjectInterface : public ViewInterface<ProjectView> {
 public:
  explicit ProjectInterface(Backend& backend);

 protected:
  std::expected<ProjectView, Error> read(const Caller& caller, const Object& object) const override;

 private:
  Backend& backend_;
};

}  // namespace coffer::api
