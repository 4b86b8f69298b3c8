#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "workers/record.hpp"

namespace coffer::resolver {

/// The names a run asked for and was refused, with how often. Bounded: what does not fit is counted together.
class Names {
 public:
  void add(const std::string& name);
  void dropped() { ++dropped_; }

  /// Pairs `name`, `count`, then `more` (queries for names that did not fit) and `dropped` (queries over the rate).
  [[nodiscard]] Records records() const;
  /// Continues from what a process before wrote.
  void restore(const Records& records);

 private:
  std::map<std::string, std::uint64_t> counts_;
  std::uint64_t more_ = 0;
  std::uint64_t dropped_ = 0;
};

/// Lets through so many a second, and more after a rest.
class Rate {
 public:
  /// @param now microseconds of a clock that does not go back
  bool take(std::uint64_t now);

 private:
  std::uint64_t last_ = 0;
  std::uint64_t credit_ = 0;  ///< in millionths of a query
  bool begun_ = false;
};

}  // namespace coffer::resolver
