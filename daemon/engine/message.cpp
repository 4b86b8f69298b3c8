#include "engine/message.hpp"

#include <vector>

#include "model/flow.hpp"
#include "model/spelling.hpp"

namespace coffer::engine {
namespace {

std::vector<std::string_view> lines(std::string_view text) {
  std::vector<std::string_view> result;
  while (!text.empty()) {
    const auto end = text.find('\n');
    if (end != 0) result.push_back(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return result;
}

// "codex/MODEL@PROVIDER" without the provider: whose key paid is nobody's business but the owner's.
std::string agentAndModel(const std::string& binding) { return binding.substr(0, binding.rfind('@')); }

}  // namespace

std::string commitMessage(const model::Task& task, std::string_view subjects) {
  const auto all = lines(subjects);
  std::string message = !task.planSummary.empty() ? task.planSummary
                        : !all.empty()            ? std::string(all.front())
                                                  : task.title;
  message += "\n\n";
  if (all.size() > 1 || (all.size() == 1 && all.front() != task.planSummary && !task.planSummary.empty())) {
    for (const auto subject : all)
      message.append("* ").append(subject).append("\n");
    message += "\n";
  }
  message += "Coffer-Task: " + std::to_string(task.id) + "\n";
  if (!task.planAccepted.empty()) message += "Coffer-Plan: " + task.planAccepted + "\n";
  for (const auto role : {model::Role::Planner, model::Role::Writer, model::Role::Reviewer}) {
    if (role == model::Role::Reviewer && !task.flow.hasReview()) continue;
    const auto bound = task.agents.find(model::bindingRole(task.flow, role));
    if (bound == task.agents.end() || bound->second.empty()) continue;
    message += "Coffer-Agent: " + std::string(model::spell(role)) + "=" + agentAndModel(bound->second) + "\n";
  }
  return message;
}

std::string shortBranch(std::string_view branch) {
  constexpr std::string_view kPrefix = "refs/heads/";
  if (branch.starts_with(kPrefix)) branch.remove_prefix(kPrefix.size());
  return std::string(branch);
}

std::string conflictWords(const model::Task& task, const std::string& tip, std::string_view words) {
  const auto branch = shortBranch(task.branch);
  return "The work cannot be put on " + branch + ", which is at " + tip.substr(0, 12) +
         " by now; nothing was changed. Reply and the writer merges it; or accept with --branch NAME and merge it "
         "yourself. " +
         std::string(words);
}

std::string conflictFeedback(const model::Task& task, const std::string& tip, std::string_view words) {
  return "The branch " + shortBranch(task.branch) + " has moved to " + tip +
         " since your work began, and your work does not go on top of that. " + std::string(words) +
         "\n\nThat commit is among the objects of /src. Run `git merge " + tip +
         "` there, resolve each conflict so that both sides keep what they are for, and commit.\n";
}

}  // namespace coffer::engine
