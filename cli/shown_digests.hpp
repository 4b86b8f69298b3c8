#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace coffer::cli {

/// Which plans and diffs this user has been shown, by digest, so that `coffer accept` can say so. A convenience for the
/// person, no proof of anything: losing the file or failing to write it changes nothing but that sentence.
class ShownDigests {
 public:
  /// $XDG_STATE_HOME/coffer/shown, by default ~/.local/state/coffer/shown; without either nothing is remembered.
  static ShownDigests ofUser();
  explicit ShownDigests(std::string file) : file_(std::move(file)) {}

  /// `now`: microseconds of CLOCK_REALTIME.
  void remember(std::string_view digest, std::uint64_t now) const;
  /// When it was last shown.
  [[nodiscard]] std::optional<std::uint64_t> when(std::string_view digest) const;

 private:
  std::string file_;  ///< empty: nothing is remembered
};

}  // namespace coffer::cli
