#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "agents/configuration.hpp"
#include "engine/canary.hpp"
#include "engine/check.hpp"
#include "engine/context.hpp"
#include "os/async.hpp"

namespace coffer::engine {

/// Looks at the whole machine for whoever asks. Anybody on the bus may, so one look goes on at a time and the next
/// begins limits::kSystemCheckPause after it at the earliest; who asks meanwhile gets the answer of the next one, which
/// has seen what they did before they asked. Nothing wakes up while nobody asks.
class SystemCheck {
 public:
  struct Sources {
    Context& context;
    const Canary& canary;
    const agents::ConfigurationFile& configuration;
    std::function<std::vector<std::string>()> problems;  ///< of configuration files
  };
  explicit SystemCheck(Sources sources) : sources_(std::move(sources)) {}

  /// Limit when as many questions of this user wait as may. Takes at most the pause and twice
  /// limits::kSystemCheckTime.
  Async<std::expected<std::vector<Check>, Error>> look(std::uint32_t user);

 private:
  using Checks = std::vector<Check>;
  Detached answer();
  Async<Checks> machine();
  [[nodiscard]] Check uids() const;
  [[nodiscard]] std::uint64_t newestEvent() const;

  Sources sources_;
  bool looking_ = false;
  std::vector<Completion<Checks>> waiting_;
  std::map<std::uint32_t, std::size_t> ofUser_;  ///< questions that wait
  std::uint64_t lastEnded_ = 0;                  ///< microseconds of CLOCK_MONOTONIC
};

}  // namespace coffer::engine
