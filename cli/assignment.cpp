#include "assignment.hpp"

#include <format>

namespace coffer::cli {

std::expected<Assignments, Failure> parseAssignments(const std::vector<std::string>& words, const std::string& option,
                                                     const std::string& example) {
  Assignments result;
  for (const auto& word : words) {
    const auto equals = word.find('=');
    if (equals == std::string::npos || equals == 0)
      return usageFailure(std::format("{} wants NAME=VALUE, as in {} {}, not \"{}\".", option, option, example, word));
    if (!result.emplace(word.substr(0, equals), word.substr(equals + 1)).second)
      return usageFailure(std::format("{} gives \"{}\" twice.", option, word.substr(0, equals)));
  }
  return result;
}

std::expected<Assignments, Failure> parseAgents(const std::vector<std::string>& words, const std::string& host,
                                                Emptiness emptiness) {
  auto result = parseAssignments(words, "--agent", "writer=codex");
  if (!result) return result;
  for (auto& [role, agent] : *result) {
    if (agent.empty() && emptiness == Emptiness::Refused)
      return usageFailure(std::format("--agent {}= names no agent.", role), there("coffer agent list", host));
    // The first colon only: names of models have colons and slashes of their own.
    if (const auto colon = agent.find(':'); colon != std::string::npos) agent[colon] = '/';
  }
  return result;
}

}  // namespace coffer::cli
