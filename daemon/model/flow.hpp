#pragma once

#include <span>
#include <string>
#include <string_view>

#include "model/turn.hpp"

namespace coffer::model {

/// Which conversation plays which role. Plain data, so another flow is a file. Roles with the same letter share a
/// conversation, its home, uid and dummy key, and run on the agent of the first of them.
struct Flow {
  std::string name;
  std::string planner;         ///< conversation letter, "A"
  std::string writer;          ///< conversation letter
  std::string reviewer;        ///< conversation letter, empty = no review after the gate
  bool freshReviewer = false;  ///< a new conversation each review: the letter gets the review's number, "C1", "C2"
  bool selfReview = false;     ///< a self-review turn after every writer turn, before the gate

  [[nodiscard]] bool hasReview() const { return !reviewer.empty(); }
  bool operator==(const Flow&) const = default;
};

/// single, executor, review, supervisor.
std::span<const Flow> builtInFlows();
/// The built-in flow of that name or nullptr.
const Flow* builtInFlow(std::string_view name);

inline constexpr std::string_view kDefaultFlow = "review";

/// The role whose agent binding a conversation runs on: the first of planner, writer, reviewer that has this letter.
Role bindingRole(const Flow& flow, Role role);

}  // namespace coffer::model
