#include "engine/policy.hpp"

#include "engine/asked.hpp"
#include "model/spelling.hpp"

namespace coffer::engine {

std::string noRole(const std::string& role) {
  return "there is no role " + role + "; there are planner, writer, reviewer";
}

std::expected<model::Policy, Error> policyOf(const store::Project& project, const api::StringMap& asked) {
  model::Policy policy;
  for (const auto* map : {&project.policy, &asked}) {
    for (const auto& [point, word] : *map) {
      const auto decides = model::parse<model::Decides>(word);
      if (!decides) return invalid("policy " + point + " is ask or auto, not " + word);
      if (*decides == model::Decides::Branch && point != "landing")
        return invalid("only landing can be decided by branch");
      // Commands of a gate are the owner's to set. Nobody may be told that a writer's would be taken.
      if (point == "command" && *decides != model::Decides::Ask)
        return std::unexpected(Error{ErrorCode::Unsupported,
                                     "a command of the gate that an agent proposes is never taken by itself: set yours "
                                     "with coffer project set, and leave the policy command at ask"});
      if (point == "plan")
        policy.plan = *decides;
      else if (point == "command")
        policy.command = *decides;
      else if (point == "risky")
        policy.risky = *decides;
      else if (point == "landing")
        policy.landing = *decides;
      else
        return invalid("there is no policy " + point + "; there are plan, command, risky, landing");
    }
  }
  return policy;
}

}  // namespace coffer::engine
