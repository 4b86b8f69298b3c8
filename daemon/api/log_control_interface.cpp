#include "api/log_control_interface.hpp"

#include <format>

#include "dbus/names.hpp"
#include "os/log.hpp"

namespace coffer::api {

LogControlInterface::LogControlInterface() : ViewInterface(names::kLogControl, Object::Kind::LogControl) {
  property("LogLevel", &LogView::level);
  properties_.back().writable = true;
  property("LogTarget", &LogView::target);
  properties_.back().writable = true;
  property("SyslogIdentifier", &LogView::identifier);
}

std::expected<LogView, Error> LogControlInterface::read(const Caller&, const Object&) const {
  return LogView{.level = std::string(log::levelName(log::mostVerbose())),
                 .target = std::string(log::targetName(log::target())),
                 .identifier = log::identifier()};
}

std::expected<void, Error> LogControlInterface::set(std::string_view property, const std::string& value) {
  if (property == "LogLevel") {
    if (const auto level = log::levelOf(value)) {
      log::setMostVerbose(*level);
      return {};
    }
  } else if (const auto target = log::targetOf(value)) {
    log::setTarget(*target);
    return {};
  }
  return std::unexpected(Error{ErrorCode::InvalidArgument, std::format("{} cannot be \"{}\"", property, value)});
}

}  // namespace coffer::api
