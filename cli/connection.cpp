#include "connection.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include <poll.h>
#include <sdbus-c++/IConnection.h>
#include <sdbus-c++/Message.h>
#include <systemd/sd-bus.h>

#include "dbus/names.hpp"

namespace coffer::cli {

namespace {

/// A call may wait for a password, for which the service gives five minutes, and for the snapshot of a big repository.
constexpr std::chrono::minutes kCallTimeout{15};

}  // namespace

std::expected<std::unique_ptr<Connection>, Failure> Connection::open(const std::string& host, bool interactive) {
  sd_bus* bus = nullptr;
  const int opened = host.empty() ? sd_bus_open_system_with_description(&bus, "coffer")
                                  : sd_bus_open_system_remote(&bus, host.c_str());
  if (opened < 0) {
    if (opened == -EINVAL && !host.empty()) return usageFailure("\"" + host + "\" is not a host that ssh could reach.");
    auto failed = noDaemon(host, std::string("the system bus cannot be reached (") + std::strerror(-opened) + ")");
    return std::unexpected(std::move(failed));
  }
  // On the whole connection, because generated proxies have no place for the flag of a single call.
  sd_bus_set_allow_interactive_authorization(bus, interactive ? 1 : 0);
  auto connection = sdbus::createBusConnection(bus);
  connection->setMethodCallTimeout(kCallTimeout);
  return std::make_unique<Connection>(std::move(connection));
}

Connection::Connection(std::unique_ptr<sdbus::IConnection> bus) : bus_(std::move(bus)), manager_(*bus_) {}

Connection::~Connection() = default;

bool Connection::process(std::chrono::milliseconds patience, int wake) {
  // What came while an answer was waited for is handed out without a look at the descriptor, which may stay silent
  // then.
  bool any = false;
  while (bus_->processPendingEvent())
    any = true;
  if (any) return true;
  const auto data = bus_->getEventLoopPollData();
  const auto wanted = patience.count() < 0 ? -1 : static_cast<int>(patience.count());
  const int own = data.getPollTimeout();
  std::array waits = {pollfd{.fd = data.fd, .events = data.events, .revents = 0},
                      pollfd{.fd = data.eventFd, .events = POLLIN, .revents = 0},
                      pollfd{.fd = wake, .events = POLLIN, .revents = 0}};
  const int limit = own < 0 ? wanted : wanted < 0 ? own : std::min(own, wanted);
  const int ready = poll(waits.data(), waits.size(), limit);
  if (ready < 0) return errno != EINTR;
  while (bus_->processPendingEvent()) {
  }
  return true;
}

void Connection::watchService(std::function<void(bool)> changed) {
  const std::string name(names::kBus);
  bus_->addMatch(
      "type='signal',sender='org.freedesktop.DBus',interface='org.freedesktop.DBus',member='NameOwnerChanged',arg0='" +
          name + "'",
      [changed = std::move(changed)](sdbus::Message message) {
        // Somebody's signal to our own name passes the rule; sdbus-c++ compares it with a well-known sender as if it
        // fitted.
        const char* sender = message.getSender();
        if (sender == nullptr || std::string_view(sender) != "org.freedesktop.DBus") return;
        std::string which;
        std::string before;
        std::string after;
        message >> which >> before >> after;
        changed(!after.empty());
      });
}

}  // namespace coffer::cli
