#pragma once

#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "dbus/error.hpp"
#include "engine/context.hpp"
#include "os/async.hpp"

namespace coffer::engine {

/// Which cgroup controllers this machine lacks, of those that limits need: memory, pids.
std::vector<std::string> missingControllers();

/// The refusal for a controller that is missing and was not accepted by the administrator; nothing when there is none.
std::optional<Error> controllersRefused(const std::vector<std::string>& accepted);

/// Proves once a boot that what PID 1 accepts for an agent's unit also holds: the first time somebody asks, one unit
/// with exactly the properties of an agent's runs coffer-canary, and the limits of its slice are read back from the
/// kernel. That all held is noted in the runtime directory, which a boot empties; what did not is tried again the next
/// time somebody asks, because somebody may have mended it.
class Canary {
 public:
  explicit Canary(Context& context) : context_(context) {}

  /// Success, or Sandbox with a sentence that names the property that does not hold and what to do. Several callers at
  /// a time are one try. `accepted`: controllers that may be missing, whose limits are not asked for.
  Async<std::expected<void, Error>> prove(std::vector<std::string> accepted);

  /// What is known without trying: proven, broken (with words), or not tried since the boot (neither).
  [[nodiscard]] bool proven() const;
  [[nodiscard]] const std::optional<Error>& broken() const { return broken_; }

 private:
  using Result = std::expected<void, Error>;
  Async<Result> fly(bool memory, bool pids);
  Async<Result> tryOut(std::uint32_t uid, bool memory, bool pids);
  [[nodiscard]] std::string record() const;

  Context& context_;
  std::optional<Error> broken_;
  bool flying_ = false;
  std::vector<Completion<Result>> waiting_;
};

}  // namespace coffer::engine
