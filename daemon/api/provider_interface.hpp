#pragma once

#include "api/backend.hpp"
#include "api/descriptors.hpp"
#include "api/interface.hpp"

namespace coffer::api {

class ProviderInterface : public ViewInterface<ProviderView> {
 public:
  ProviderInterface(Backend& backend, Descriptors& descriptors);

 protected:
  std::expected<ProviderView, Error> read(const Caller& caller, const Object& object) const override;

 private:
  void setKey(const CallPointer& call);

  Backend& backend_;
  Descriptors& descriptors_;
};

}  // namespace coffer::api
