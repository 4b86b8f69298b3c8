#pragma once

#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "dbus/error.hpp"
#include "engine/check.hpp"
#include "engine/context.hpp"
#include "os/async.hpp"

namespace coffer::engine {

/// Proves once a boot that what PID 1 accepts for an agent's unit also holds: the first time somebody asks, one unit
/// with exactly the properties of an agent's runs coffer-canary, and the limits of its slice are read back from the
/// kernel. That all held is noted in the runtime directory, which a boot empties; what did not is tried again the next
/// time somebody asks, because somebody may have mended it.
class Canary {
 public:
  explicit Canary(Context& context) : context_(context) {}

  /// Success, or Sandbox with a sentence that names what this machine lacks, or the property that does not hold, and
  /// what to do: the words of check() and of sandboxNeeds(), which are asked for each time. Several callers at a time
  /// are one try. `accepted`: controllers that may be missing, whose limits are not asked for.
  Async<std::expected<void, Error>> prove(std::vector<std::string> accepted);

  /// What is known without trying: proven, broken (with words), or not tried since the boot (neither).
  [[nodiscard]] Check check() const;

 private:
  using Result = std::expected<void, Error>;
  using Held = std::expected<void, Check>;
  Async<Held> fly(bool memory, bool pids);
  Async<Held> tryOut(std::uint32_t uid, bool memory, bool pids);
  [[nodiscard]] bool proven() const;
  [[nodiscard]] std::string record() const;

  Context& context_;
  std::optional<Check> broken_;
  bool flying_ = false;
  std::vector<Completion<Result>> waiting_;
};

}  // namespace coffer::engine
