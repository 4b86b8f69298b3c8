#include "notify/name_owner.hpp"

#include <cstdint>
#include <format>
#include <optional>
#include <string_view>
#include <utility>

namespace coffer::notify {

namespace {

constexpr auto kBus = "org.freedesktop.DBus";
constexpr auto kBusPath = "/org/freedesktop/DBus";

}  // namespace

NameOwner::NameOwner(sdbus::IConnection& bus, const std::string& name, std::function<void(const std::string&)> changed)
    : name_(name),
      changed_(std::move(changed)),
      bus_(sdbus::createProxy(bus, sdbus::ServiceName(kBus), sdbus::ObjectPath(kBusPath))) {
  const auto rule =
      std::format("type='signal',sender='{0}',path='{1}',interface='{0}',member='NameOwnerChanged',arg0='{2}'", kBus,
                  kBusPath, name);
  match_ = bus.addMatch(
      rule,
      [this](sdbus::Message message) {
        // sd-bus cannot tell a sender by a well-known name; whoever sends a signal to us alone would pass the match.
        const auto* sender = message.getSender();
        if (sender == nullptr || std::string_view(sender) != kBus) return;
        std::string which;
        std::string before;
        std::string after;
        message >> which >> before >> after;
        set(after);
      },
      sdbus::return_slot);
  bus_->callMethodAsync("GetNameOwner")
      .onInterface(kBus)
      .withArguments(name)
      .uponReplyInvoke(
          [this](std::optional<sdbus::Error> error, const std::string& owner) { set(error ? std::string() : owner); });
}

void NameOwner::start(std::function<void(const sdbus::Error&)> failed) {
  bus_->callMethodAsync("StartServiceByName")
      .onInterface(kBus)
      .withArguments(name_, std::uint32_t{0})
      .uponReplyInvoke([failed = std::move(failed)](std::optional<sdbus::Error> error, std::uint32_t) {
        if (error) failed(*error);
      });
}

void NameOwner::set(const std::string& owner) {
  if (known_ && owner == owner_) return;
  known_ = true;
  owner_ = owner;
  changed_(owner);
}

}  // namespace coffer::notify
