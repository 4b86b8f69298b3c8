#pragma once

#include "api/interface.hpp"

namespace coffer::api {

struct LogView {
  std::string level;
  std::string target;
  std::string identifier;
};

/// org.freedesktop.LogControl1, for systemctl service-log-level and service-log-target.
class LogControlInterface : public ViewInterface<LogView> {
 public:
  LogControlInterface();
  std::expected<void, Error> set(std::string_view property, const std::string& value) override;

 protected:
  std::expected<LogView, Error> read(const Caller& caller, const Object& object) const override;
};

}  // namespace coffer::api
