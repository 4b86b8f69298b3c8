#pragma once

#include <cstdint>
#include <string>

#include "dictionary.hpp"
#include "format.hpp"

namespace coffer::cli {

/// One entry of Task.ListRuns in words.
struct RunView {
  explicit RunView(const Dictionary& run);

  std::uint64_t id;
  std::string kind;
  std::string role;
  std::string agent;  ///< with its model
  std::uint32_t round;
  std::uint32_t attempt;
  std::uint64_t started;
  std::uint64_t ended;  ///< 0 while it runs
  std::string result;
  std::int32_t code;
  std::string text;  ///< visible
  std::uint64_t tokens;

  /// "writer (codex/gpt-5), round 1", "gate make test, round 1".
  [[nodiscard]] std::string what() const;
  /// "ok", "exit code 2", "killed by signal 9", "out of memory", "took too long".
  [[nodiscard]] std::string outcome() const;
  [[nodiscard]] Microseconds length(std::uint64_t now) const;
  [[nodiscard]] bool good() const;
};

}  // namespace coffer::cli
