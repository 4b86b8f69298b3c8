#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "diff_text.hpp"
#include "format.hpp"
#include "ui/messages.hpp"

/// What a person can decide about a task, and by which key. What is allowed comes from Task.Actions alone.
namespace coffer::cli::ui {

struct Decision {
  std::string_view action;  ///< the word in Task.Actions
  std::string_view key;
  std::string_view words;  ///< for the line of keys
  std::string_view doing;  ///< "Accepting the plan", while it is done
  std::string_view done;   ///< "Accepted the plan", when it is
};

/// In the order of the line of keys.
const std::vector<Decision>& decisions();
/// The entry of an action, or nothing for one that is not known here.
const Decision* decisionOf(std::string_view action);

/// A question that stands until it is answered, and what is done on a yes. It is bound to the digest it names.
struct Question {
  Act act;
  std::vector<StyledLine> lines;
};

/// `files`: what the diff changes, where that is on the screen.
Question askToAcceptPlan(const TaskView& task, const Dictionary& properties);
Question askToAcceptWork(const TaskView& task, const Dictionary& properties,
                         const std::optional<std::vector<DiffFile>>& files, const std::string& branch);
Question askToRetry(const TaskView& task);
Question askToCancel(const TaskView& task);
Question askToDelete(const TaskView& task);

}  // namespace coffer::cli::ui
