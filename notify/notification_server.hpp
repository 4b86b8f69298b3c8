#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sdbus-c++/sdbus-c++.h>

#include "notify/board.hpp"
#include "notify/bubble.hpp"

namespace coffer::notify {

inline constexpr std::string_view kNotifications = "org.freedesktop.Notifications";

/// One program that shows notifications, from when it came until it leaves the bus: its numbers mean nothing to the
/// next one.
class NotificationServer {
 public:
  struct Told {
    std::function<void()> ready;  ///< it said what it can show; nothing is shown before
    std::function<void(std::uint64_t task, std::optional<std::uint32_t> number)> shown;
    std::function<void(std::uint32_t number)> closed;
    /// `token`: by which a window may come to the front because of it, or empty.
    std::function<void(std::uint32_t number, Button button, const std::string& token)> pressed;
  };

  /// `owner`: the unique name of its connection.
  NotificationServer(sdbus::IConnection& bus, const std::string& owner, Told told);
  NotificationServer(const NotificationServer&) = delete;
  NotificationServer& operator=(const NotificationServer&) = delete;
  ~NotificationServer() = default;

  void show(const Orders::Show& order);
  void close(std::uint32_t number);

 private:
  Told told_;
  Capabilities capabilities_;
  std::pair<std::uint32_t, std::string> token_;  ///< the last one, and the notification it is for
  std::unique_ptr<sdbus::IProxy> server_;
};

}  // namespace coffer::notify
