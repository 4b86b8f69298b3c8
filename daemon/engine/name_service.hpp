#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include <systemd/sd-event.h>

#include "dbus/error.hpp"
#include "engine/account_limits.hpp"
#include "model/limits.hpp"
#include "os/async.hpp"
#include "os/event_source.hpp"

namespace coffer::engine {

/// Asks the machine's name service switch (nss(5)) on a thread of its own: behind it may be a directory on the network,
/// and its calls return when they like. That thread does nothing else and touches nothing of ours but the question.
class NameService {
 public:
  explicit NameService(sd_event* event, std::chrono::microseconds patience = limits::kAccountTime);
  /// What is being asked is left to itself: a directory that does not answer holds up no end of the daemon.
  ~NameService();
  NameService(const NameService&) = delete;
  NameService& operator=(const NameService&) = delete;

  /// Runs the question on the thread. It owns all it needs. Busy when limits::kAccountQuestions wait, Environment when
  /// there is no answer in time.
  template <typename T>
  Async<std::expected<T, Error>> ask(std::function<T()> question) {
    auto answer = std::make_shared<std::optional<T>>();
    auto asked = post([question = std::move(question), answer] { *answer = question(); });
    if (!asked) co_return std::unexpected(asked.error());
    const bool answered = co_await *asked;
    if (!answered) co_return std::unexpected(silent());
    co_return std::move(**answer);
  }

 private:
  struct Desk;
  struct Pending {
    Completion<bool> completion;
    os::EventSource timer;
  };
  std::expected<Completion<bool>, Error> post(std::function<void()> question);
  void settle(std::uint64_t number, bool answered);
  void takeAnswers();
  [[nodiscard]] Error silent() const;

  sd_event* event_;
  std::chrono::microseconds patience_;
  std::shared_ptr<Desk> desk_;  ///< shared with the thread
  os::EventSource answers_;
  std::map<std::uint64_t, Pending> pending_;
  std::uint64_t last_ = 0;
};

}  // namespace coffer::engine
