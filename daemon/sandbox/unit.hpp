#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "os/fd.hpp"

namespace coffer::sandbox {

/// One mount of a unit: `source` is always a path of ours, never one of a user, a repository or an agent.
struct Bind {
  std::string source;
  std::string destination;
  bool optional = false;  ///< a source that is not there is left out
  bool recursive = true;  ///< mounts below the source come along

  bool operator==(const Bind&) const = default;
};

/// A list with the leading flag of systemd's filters: true means that the list allows.
struct Filter {
  bool allow = true;
  std::vector<std::string> entries;

  bool operator==(const Filter&) const = default;
};

/// A command line that PID 1 runs as it stands: no environment is expanded into it.
struct Command {
  std::vector<std::string> arguments;

  bool operator==(const Command&) const = default;
};

/// Journal fields, "NAME=VALUE", that PID 1 attaches to what a unit says and to what it says of it.
struct LogFields {
  std::vector<std::string> fields;

  bool operator==(const LogFields&) const = default;
};

using Pairs = std::vector<std::pair<std::string, std::string>>;

/// A property of a transient unit, in the shapes that PID 1's bus interface takes.
struct Property {
  std::string name;
  std::variant<bool, std::string, std::uint64_t, std::uint32_t, std::int32_t, std::vector<std::string>,
               std::vector<Bind>, Filter, Command, Pairs, LogFields>
      value;

  bool operator==(const Property&) const = default;
};

/// A descriptor that a unit gets from us, found in it under this name (LISTEN_FDNAMES).
struct PassedFd {
  std::string name;
  std::shared_ptr<Fd> fd;
};

/// A transient service as it is asked of PID 1. It carries nothing of a task but the numbers in its name: every user
/// can read its properties.
struct Unit {
  std::string name;  ///< with ".service"
  std::vector<Property> properties;
  std::vector<PassedFd> fds;

  void set(std::string property, bool value) { properties.push_back({std::move(property), value}); }
  void set(std::string property, const char* value) { properties.push_back({std::move(property), std::string(value)}); }
  template <typename T>
  void set(std::string property, T value) {
    properties.push_back({std::move(property), std::move(value)});
  }
};

/// How a unit ended, as PID 1 recorded it.
struct UnitEnd {
  std::string result;           ///< Result of the service: success, exit-code, signal, timeout, oom-kill, ...
  std::int32_t code = 0;        ///< CLD_EXITED and so on
  std::int32_t status = 0;      ///< exit status or signal
  std::string invocation;       ///< InvocationID in hexadecimal
  std::uint64_t startedUs = 0;  ///< microseconds, CLOCK_REALTIME
  std::uint64_t endedUs = 0;

  [[nodiscard]] bool success() const { return result == "success" && code == 1 && status == 0; }
  /// PID 1 saw the end and not how it was: a main process that it cannot wait for, below a namespace of its own,
  /// sometimes goes unnoticed.
  [[nodiscard]] bool lost() const { return result == "success" && code == 0; }
};

}  // namespace coffer::sandbox
