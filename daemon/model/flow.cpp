#include "model/flow.hpp"

#include <array>

namespace coffer::model {

std::span<const Flow> builtInFlows() {
  static const std::array<Flow, 4> flows{{
      {.name = "single", .planner = "A", .writer = "A", .reviewer = "", .freshReviewer = false, .selfReview = true},
      {.name = "executor", .planner = "A", .writer = "B", .reviewer = "", .freshReviewer = false, .selfReview = true},
      {.name = "review", .planner = "A", .writer = "B", .reviewer = "C", .freshReviewer = true, .selfReview = false},
      {.name = "supervisor",
       .planner = "A",
       .writer = "B",
       .reviewer = "A",
       .freshReviewer = false,
       .selfReview = false},
  }};
  return flows;
}

const Flow* builtInFlow(std::string_view name) {
  for (const auto& flow : builtInFlows())
    if (flow.name == name) return &flow;
  return nullptr;
}

Role bindingRole(const Flow& flow, Role role) {
  const std::string& letter = role == Role::Planner ? flow.planner : role == Role::Writer ? flow.writer : flow.reviewer;
  if (letter == flow.planner) return Role::Planner;
  if (letter == flow.writer) return Role::Writer;
  return Role::Reviewer;
}

}  // namespace coffer::model
