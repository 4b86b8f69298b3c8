#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>

namespace coffer::model {

struct Task;

using Value = std::variant<std::string, std::int64_t>;
/// Flat: names with dots where a thing has parts ("usage.input").
using Payload = std::map<std::string, Value>;

/// One change of a task. Appended before anything acts on it; a task is what its events make of it.
struct Event {
  std::uint64_t sequence = 0;  ///< machine-wide, given by the store; 0 = not stored yet
  std::uint64_t at = 0;        ///< microseconds CLOCK_REALTIME
  std::string type;
  Payload payload;

  /// The value of that name; empty or 0 when it is missing or of the other type.
  [[nodiscard]] const std::string& text(std::string_view name) const;
  [[nodiscard]] std::int64_t number(std::string_view name) const;
  bool operator==(const Event&) const = default;
};

/// The only way a task changes. Total: an event of a type this program does not know changes sequence and time only, so
/// that an older program can read what a newer one wrote.
void apply(Task& task, const Event& event);

}  // namespace coffer::model
