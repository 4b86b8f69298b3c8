#include "ui/decisions.hpp"

#include <algorithm>
#include <format>

#include "model/visible_text.hpp"
#include "task_details.hpp"

namespace coffer::cli::ui {

namespace {

StyledLine heading(std::string text) { return {{std::move(text), Tone::Attention}}; }

StyledLine digestLine(const std::string& digest) { return {{"digest ", Tone::Faint}, {digest, Tone::Strong}}; }

}  // namespace

const std::vector<Decision>& decisions() {
  static const std::vector<Decision> all = {
      {"accept-plan", "a", "accept plan", "Accepting the plan", "Accepted the plan"},
      {"accept-work", "a", "accept work", "Accepting the work", "Accepted the work"},
      {"reply", "r", "reply", "Sending the reply", "Replied"},
      {"retry", "t", "try again", "Trying again", "Going on"},
      {"cancel", "c", "cancel", "Cancelling", "Cancelled"},
      {"delete", "x", "delete", "Deleting", "Deleted"},
  };
  return all;
}

const Decision* decisionOf(std::string_view action) {
  const auto& all = decisions();
  const auto found = std::ranges::find(all, action, &Decision::action);
  return found == all.end() ? nullptr : &*found;
}

Question askToAcceptPlan(const TaskView& task, const Dictionary& properties) {
  const auto digest = textOf(properties, "PlanDigest");
  return {{"accept-plan", task.id, digest, {}},
          {heading(std::format("Accept the plan of task {}?", task.name())),
           digestLine(digest),
           {{"The writer begins with exactly this plan."}}}};
}

Question askToAcceptWork(const TaskView& task, const Dictionary& properties,
                         const std::optional<std::vector<DiffFile>>& files, const std::string& branch) {
  const auto digest = textOf(properties, "WorkDigest");
  auto what = "commit " + shortCommit(textOf(properties, "Candidate"));
  if (files) {
    std::size_t added = 0;
    std::size_t removed = 0;
    for (const auto& file : *files) {
      added += file.added;
      removed += file.removed;
    }
    what += std::format(": {} file{}, +{} -{}", files->size(), files->size() == 1 ? "" : "s", added, removed);
  }
  const auto base = baseBranch(properties);
  const auto target = branch.empty() ? base : model::visibleText(branch);
  return {{"accept-work", task.id, digest, branch},
          {heading(std::format("Accept the work of task {} and land it?", task.name())),
           digestLine(digest),
           {{std::move(what)}},
           {{target.empty() ? "It is landed in your repository."
                            : std::format("It is landed on {}{} in your repository.", target,
                                          branch.empty() ? "" : ", made if need be,")}}}};
}

Question askToRetry(const TaskView& task) {
  return {{"retry", task.id, {}, {}},
          {heading(std::format("Go on with task {}?", task.name())), {{"The step it stopped at is done again."}}}};
}

Question askToCancel(const TaskView& task) {
  return {{"cancel", task.id, {}, {}},
          {heading(std::format("Cancel task {}?", task.name())), {{"What runs is stopped. Its commits are kept."}}}};
}

Question askToDelete(const TaskView& task) {
  return {{"delete", task.id, {}, {}},
          {heading(std::format("Delete task {}?", task.name())),
           {{"Everything of it is removed but one line of history."}}}};
}

}  // namespace coffer::cli::ui
