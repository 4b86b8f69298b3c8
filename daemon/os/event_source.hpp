#pragma once

#include <cstdint>
#include <ctime>
#include <functional>
#include <memory>

#include <systemd/sd-event.h>

namespace coffer::os {

/// Something the loop waits for, with what is to be done then; both end with this object, also from within.
class EventSource {
 public:
  EventSource() = default;
  EventSource(EventSource&&) = default;
  EventSource& operator=(EventSource&&) = default;

  /// Once, `delay` microseconds from now (CLOCK_MONOTONIC, coalesced to `slack`: an idle daemon wakes as rarely as it
  /// can).
  static EventSource timer(sd_event* loop, std::uint64_t delay, std::function<void()> due,
                           std::uint64_t slack = 250'000) {
    EventSource source;
    source.state_ = std::make_unique<State>();
    source.state_->due = std::move(due);
    sd_event_add_time_relative(loop, &source.state_->source, CLOCK_MONOTONIC, delay, slack, &onTime,
                               source.state_.get());
    return source;
  }
  /// While the descriptor, which stays the caller's, has one of the epoll events.
  static EventSource io(sd_event* loop, int fd, std::uint32_t events, std::function<void()> due) {
    EventSource source;
    source.state_ = std::make_unique<State>();
    source.state_->due = std::move(due);
    if (sd_event_add_io(loop, &source.state_->source, fd, events, &onIo, source.state_.get()) < 0)
      source.state_.reset();
    return source;
  }
  [[nodiscard]] explicit operator bool() const { return state_ != nullptr; }

 private:
  struct State {
    State() = default;
    State(const State&) = delete;
    State& operator=(const State&) = delete;
    ~State() { sd_event_source_disable_unref(source); }
    std::function<void()> due;
    sd_event_source* source = nullptr;
  };
  // The function is copied before it runs, because it may end this object.
  static int onTime(sd_event_source*, std::uint64_t, void* data) {
    const auto due = static_cast<State*>(data)->due;
    due();
    return 0;
  }
  static int onIo(sd_event_source*, int, std::uint32_t, void* data) {
    const auto due = static_cast<State*>(data)->due;
    due();
    return 0;
  }

  std::unique_ptr<State> state_;
};

}  // namespace coffer::os
