#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <string>

#include <systemd/sd-event.h>

#include "api/backend.hpp"
#include "api/call.hpp"
#include "api/watches.hpp"
#include "os/event_source.hpp"

namespace coffer::api {

/// Calls of Task.Wait that have not been answered.
class Waits {
 public:
  Waits(sd_event* loop, const Backend& backend, Watches& watches) : loop_(loop), backend_(backend), watches_(watches) {}

  /// Answers at once when the task is past the sequence, otherwise when it changes or after `timeout` microseconds.
  void wait(const CallPointer& call, std::uint64_t afterSequence, std::uint64_t timeout);
  void changed(std::uint64_t task);
  /// The connection has gone: nobody listens any more.
  void gone(const std::string& sender);

 private:
  struct Waiting {
    CallPointer call;
    std::uint64_t task = 0;
    std::uint64_t after = 0;
    os::EventSource deadline;
  };
  using Place = std::list<Waiting>::iterator;
  /// True when it was answered.
  bool answer(Call& call, std::uint64_t task, std::uint64_t after, bool late) const;
  void end(Place place);

  sd_event* loop_;
  const Backend& backend_;
  Watches& watches_;
  std::list<Waiting> waiting_;
  std::map<uid_t, std::size_t> perUser_;
};

}  // namespace coffer::api
