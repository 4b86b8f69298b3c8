#pragma once

#include <string>
#include <utility>

namespace coffer::repository {

/// A directory of this run's own (0700, below $TMPDIR or /tmp), removed with everything in it at the end.
class Scratch {
 public:
  Scratch();
  Scratch(Scratch&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  Scratch& operator=(Scratch&&) = delete;
  ~Scratch();

  /// Empty when the directory could not be made.
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace coffer::repository
