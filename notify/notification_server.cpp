#include "notify/notification_server.hpp"

#include <map>
#include <utility>

#include "os/log.hpp"

namespace coffer::notify {

namespace {

constexpr auto kPath = "/org/freedesktop/Notifications";
constexpr auto kName = "Cofferdam";

// Notify's argument expire_timeout.
constexpr std::int32_t kAsTheServerLikes = -1;
constexpr std::int32_t kNever = 0;

}  // namespace

NotificationServer::NotificationServer(sdbus::IConnection& bus, const std::string& owner, Told told)
    : told_(std::move(told)), server_(sdbus::createProxy(bus, sdbus::ServiceName(owner), sdbus::ObjectPath(kPath))) {
  const std::string interface(kNotifications);
  server_->uponSignal("NotificationClosed").onInterface(interface).call([this](std::uint32_t number, std::uint32_t) {
    told_.closed(number);
  });
  // It comes right before the button it belongs to, and is good for once.
  server_->uponSignal("ActivationToken")
      .onInterface(interface)
      .call([this](std::uint32_t number, const std::string& token) {
        token_ = {number, isActivationToken(token) ? token : std::string()};
      });
  server_->uponSignal("ActionInvoked")
      .onInterface(interface)
      .call([this](std::uint32_t number, const std::string& key) {
        const auto [of, token] = std::exchange(token_, {});
        if (const auto button = buttonOf(key)) told_.pressed(number, *button, of == number ? token : std::string());
      });
  server_->callMethodAsync("GetCapabilities")
      .onInterface(interface)
      .uponReplyInvoke([this](std::optional<sdbus::Error> error, const std::vector<std::string>& names) {
        // Of a server that does not say it nothing is expected but the summary.
        if (error) log::warning("the notification server does not say what it can show: " + error->getMessage());
        capabilities_ = Capabilities::of(names);
        told_.ready();
      });
}

void NotificationServer::show(const Orders::Show& order) {
  const auto shown = shownBy(capabilities_, order.bubble);
  const std::map<std::string, sdbus::Variant> hints = {
      {"urgency", sdbus::Variant(static_cast<std::uint8_t>(order.bubble.urgency))}};
  server_->callMethodAsync("Notify")
      .onInterface(std::string(kNotifications))
      .withArguments(kName, order.replaces, "", shown.summary, shown.body, shown.actions, hints,
                     order.bubble.stays ? kNever : kAsTheServerLikes)
      .uponReplyInvoke([this, task = order.task](std::optional<sdbus::Error> error, std::uint32_t number) {
        if (error) log::warning("a notification was not shown: " + error->getMessage());
        told_.shown(task, error ? std::nullopt : std::optional(number));
      });
}

void NotificationServer::close(std::uint32_t number) {
  // It may be closed already, which is all the same.
  server_->callMethodAsync("CloseNotification")
      .onInterface(std::string(kNotifications))
      .withArguments(number)
      .uponReplyInvoke([](std::optional<sdbus::Error>) {});
}

}  // namespace coffer::notify
