#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "dictionary.hpp"
#include "format.hpp"

namespace coffer::cli {

/// What a task's properties, or its entry in ListTasks, say in a few words. What is allowed comes from Actions; nothing
/// here knows the rules of a task's life.
struct TaskView {
  explicit TaskView(const Dictionary& task);

  std::uint64_t id;
  std::string project;
  std::string title;  ///< visible
  std::string state;
  std::string parked;
  std::vector<std::string> actions;
  std::string waitingCode;
  std::string waitingWords;  ///< visible
  std::uint64_t waitingUntil;
  std::uint32_t round;
  std::uint32_t rounds;
  std::uint64_t created;
  std::uint64_t changed;
  bool deleted;

  [[nodiscard]] bool allows(std::string_view action) const;
  [[nodiscard]] bool ended() const;
  /// Nothing goes on until a person decides something.
  [[nodiscard]] bool needsYou() const;
  /// "17 zlib: title".
  [[nodiscard]] std::string name() const;
  /// "plan to read", "asks you something", "writing, round 1 of 3", "waits for a free slot", "done".
  [[nodiscard]] std::string where() const;
  [[nodiscard]] Tone tone() const;
  /// The verbs and arguments that make sense now, the one to begin with first; without "coffer".
  [[nodiscard]] std::vector<std::string> nextCommands() const;
};

}  // namespace coffer::cli
