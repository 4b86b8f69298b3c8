#pragma once

#include "api/backend.hpp"
#include "api/interface.hpp"

namespace coffer::api {

class AgentInterface : public ViewInterface<AgentView> {
 public:
  explicit AgentInterface(Backend& backend);

 protected:
  std::expected<AgentView, Error> read(const Caller& caller, const Object& object) const override;

 private:
  Backend& backend_;
};

}  // namespace coffer::api
