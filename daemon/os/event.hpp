#pragma once

#include <cstdint>
#include <memory>

#include <sys/epoll.h>
#include <systemd/sd-event.h>

#include "os/async.hpp"

namespace coffer::os {

/// Waits until the descriptor can be read or `timeoutUs` microseconds are over; true means that it can be read. The
/// descriptor must stay open until then.
inline Async<bool> readable(sd_event* event, int fd, std::uint64_t timeoutUs) {
  struct Wait {
    Completion<bool> completion;
    sd_event_source* io = nullptr;
    sd_event_source* timer = nullptr;
    ~Wait() {
      sd_event_source_disable_unref(io);
      sd_event_source_disable_unref(timer);
    }
  };
  Wait wait;
  const auto onIo = [](sd_event_source*, int, std::uint32_t, void* data) {
    static_cast<Wait*>(data)->completion.set(true);
    return 0;
  };
  const auto onTime = [](sd_event_source*, std::uint64_t, void* data) {
    static_cast<Wait*>(data)->completion.set(false);
    return 0;
  };
  // One shot: the source must not fire again while the coroutine that owns it is being resumed from it.
  if (sd_event_add_io(event, &wait.io, fd, EPOLLIN, onIo, &wait) < 0) co_return false;
  sd_event_source_set_enabled(wait.io, SD_EVENT_ONESHOT);
  if (sd_event_add_time_relative(event, &wait.timer, CLOCK_MONOTONIC, timeoutUs, 0, onTime, &wait) < 0) co_return false;
  co_return co_await wait.completion;
}

/// Waits that long, the time that the machine sleeps included.
inline Async<Done> pause(sd_event* event, std::uint64_t microseconds) {
  struct Wait {
    Completion<Done> completion;
    sd_event_source* timer = nullptr;
    ~Wait() { sd_event_source_disable_unref(timer); }
  };
  Wait wait;
  const auto onTime = [](sd_event_source*, std::uint64_t, void* data) {
    static_cast<Wait*>(data)->completion.set({});
    return 0;
  };
  if (sd_event_add_time_relative(event, &wait.timer, CLOCK_BOOTTIME, microseconds, 0, onTime, &wait) < 0)
    co_return Done{};
  co_return co_await wait.completion;
}

}  // namespace coffer::os
