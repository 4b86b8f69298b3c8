#pragma once

#include <cstdint>
#include <expected>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "agents/binding.hpp"
#include "model/limits.hpp"
#include "model/turn.hpp"
#include "model/uid_range.hpp"

namespace coffer::agents {

/// What the machine's administrator says in cofferd.toml. The defaults here are what a machine without that file has.
struct Configuration {
  /// cgroup controllers that may be missing; every task says so then. Empty: a missing one is a refusal.
  std::vector<std::string> acceptMissing;

  /// First host uid of ours; a change counts from the next start on, while nothing has a uid of the old range.
  std::uint32_t uidBase = model::kUidBase;

  std::uint64_t turnMinutes = 60;
  std::uint64_t gateMinutes = 30;
  std::uint64_t rounds = limits::kRounds;
  std::uint64_t tasksAtOnce = 0;  ///< 0: as many as the machine has cores
  std::uint64_t taskImageMib = 8 * 1024;
  std::uint64_t outputImageMib = 192;
  std::uint64_t boxMemoryMib = 0;  ///< 0: half of the machine's
  std::uint64_t boxTasks = 1024;
  // Totals of one user, over all their tasks.
  std::uint64_t userTasksAtOnce = 0;     ///< 0: as many as the machine
  std::uint64_t userSliceMemoryMib = 0;  ///< 0: three quarters of the machine's
  std::uint64_t userSliceTasks = 0;      ///< 0: room for as many boxes as may run at once, and for what serves them
  std::uint64_t userDiskMib = 0;         ///< 0: half of the file system with /var/lib/cofferdam, at least one task
  std::uint64_t freeSpaceMib = 1024;     ///< stays free below what running tasks may still fill

  std::map<model::Role, Binding> roles;

  /// The error is one sentence that begins with `FILE:LINE: `.
  static std::expected<Configuration, std::string> read(std::string_view text, std::string_view file);
};

/// cofferd.toml where it is found first. A bad file keeps what was good before; without one before, the defaults count.
class ConfigurationFile {
 public:
  /// In order of precedence: /etc/cofferdam/cofferd.toml, /usr/lib/cofferdam/cofferd.toml.
  explicit ConfigurationFile(std::vector<std::filesystem::path> paths) : paths_(std::move(paths)) {}

  /// Never throws and never fails.
  void reload();
  [[nodiscard]] const Configuration& current() const { return current_; }
  /// Empty, or what is wrong with the file as one sentence.
  [[nodiscard]] const std::string& problem() const { return problem_; }

 private:
  std::vector<std::filesystem::path> paths_;
  Configuration current_;
  std::string problem_;
};

}  // namespace coffer::agents
