#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <utility>

#include "agents/binding.hpp"
#include "agents/turn_brief.hpp"
#include "agents/turn_command.hpp"
#include "dbus/error.hpp"
#include "engine/session.hpp"
#include "engine/step_run.hpp"
#include "sandbox/sealed.hpp"

namespace coffer::engine {

/// What one turn is made of, looked up before anything of it exists; copies, because a turn outlives a reload.
struct TurnPlan {
  std::optional<agents::Descriptor> descriptor;
  agents::Binding binding;
  std::optional<store::Provider> provider;
  std::optional<agents::ProviderFile> providerFile;
  std::string letter;
  std::uint64_t conversation = 0;
  std::uint32_t uid = 0;
  std::string session;
  agents::TurnCommand command;
  agents::TurnBrief brief;
  std::string prompt;
};

/// NoAgent or NoProvider when nobody can play the role. `began`: the agent runs already, or has ended, with the
/// provider that there was. `forgotten`: the conversation's home is gone, so the agent begins anew.
std::expected<TurnPlan, Error> planTurn(StepRun& run, bool began, bool forgotten = false);

/// The directory of the task's image that is the conversation's home.
std::string homeFolder(const TurnPlan& plan);

/// Whether the turn may change its workspace.
bool writes(const StepRun& run);

/// Tokens that this turn may still cost. Nothing without a budget.
std::optional<std::uint64_t> budgetLeft(const StepRun& run);

/// Whether the workspace is brought to the candidate first. A reviewer's is new each time. A writer's is its own, and
/// new only when the task was taken up again after its end and nobody has written since.
bool beginsAtBase(const StepRun& run, const TurnPlan& plan);

/// What stands around the agent.
SessionSpec sessionFor(const StepRun& run, const TurnPlan& plan, const std::string& checkout);

/// The agent's unit. `in` is what it is shown at /task/in, `outputs` the files that it prints to.
sandbox::AgentSpec agentSpec(const StepRun& run, const TurnPlan& plan, const Session& session,
                             const sandbox::Identity& identity, const std::string& in,
                             const std::pair<std::string, std::string>& outputs);

}  // namespace coffer::engine
