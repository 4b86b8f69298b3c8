#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <sys/types.h>
#include <systemd/sd-bus.h>

#include "api/caller.hpp"
#include "api/message.hpp"

namespace coffer::api {

/// Asks the bus whose a connection is. Nothing when it has gone. A seam: on a private bus all tests have one uid.
using Identify = std::function<std::optional<uid_t>(sd_bus*, const std::string& sender)>;
std::optional<uid_t> identifyByBus(sd_bus* bus, const std::string& sender);

/// Who is behind unique names. The bus never gives a unique name twice, so what is known of one stays true until the
/// bus ends; only so many are remembered.
class Connections {
 public:
  using Clock = std::chrono::steady_clock;

  /// `now` is a seam for tests.
  Connections(sd_bus* bus, Identify identify, std::function<Clock::time_point()> now = Clock::now)
      : bus_(bus), identify_(std::move(identify)), now_(std::move(now)) {}

  [[nodiscard]] std::optional<Caller> caller(std::string_view sender);
  /// Whether Backend::meet() was asked about it.
  [[nodiscard]] bool isMet(std::string_view sender) const;
  void meet(std::string_view sender);
  /// For the next limits::kSeeOtherTime it sees what is others'.
  void makeAdministrator(std::string_view sender);

 private:
  struct Known {
    std::string sender;
    Caller caller;
    Clock::time_point seesUntil;  ///< of a caller that is not root
    bool met = false;
  };
  sd_bus* bus_;
  Identify identify_;
  std::function<Clock::time_point()> now_;
  std::list<Known> known_;  ///< the last seen first
  std::map<std::string, std::list<Known>::iterator, std::less<>> byName_;
};

}  // namespace coffer::api
