#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <list>
#include <map>
#include <string>
#include <string_view>

#include <sys/types.h>
#include <systemd/sd-event.h>

#include "dbus/error.hpp"
#include "model/limits.hpp"
#include "os/event_source.hpp"
#include "os/fd.hpp"

namespace coffer::api {

/// Reads descriptors that callers handed over, without ever waiting in a system call: pipes with RWF_NOWAIT (the flags
/// of the open file are the caller's and can change), files in memory directly. Anything else is refused: even to ask
/// its kind could wait for a file system that the caller serves.
class Descriptors {
 public:
  using Outcome = std::expected<std::string, Error>;

  explicit Descriptors(sd_event* loop, std::uint64_t patience = limits::kDescriptorTime)
      : loop_(loop), patience_(patience) {}

  /// Gives all bytes, at most `limit`; once, at once or later, unless this object ends before.
  void read(uid_t uid, Fd fd, std::size_t limit, std::function<void(Outcome)> done);

 private:
  struct Reading {
    std::list<Reading>::iterator place;
    uid_t uid = 0;
    Fd fd;
    std::size_t limit = 0;
    std::string bytes;
    std::function<void(Outcome)> done;
    os::EventSource ready;
    os::EventSource deadline;
  };
  void advance(Reading& reading);
  void finish(Reading& reading, Outcome outcome);

  sd_event* loop_;
  std::uint64_t patience_;
  std::list<Reading> readings_;
  std::map<uid_t, std::size_t> perUser_;
};

/// A new descriptor on exactly these bytes, in memory, that nobody can change any more, us included.
std::expected<Fd, Error> sealed(std::string_view bytes);

}  // namespace coffer::api
