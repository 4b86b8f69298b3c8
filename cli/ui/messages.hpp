#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "dictionary.hpp"
#include "failure.hpp"
#include "task_view.hpp"

/// What goes between the view and the thread that holds the bus: orders one way, updates the other.
namespace coffer::cli::ui {

enum class Page : std::uint8_t { List, Details, Plan, Transcript, Diff, Findings, Gate };

/// What the view shows and therefore wants to be kept current.
struct Focus {
  Page page = Page::List;
  std::uint64_t task = 0;            ///< the selected one; 0: none
  std::optional<std::uint64_t> run;  ///< of this run instead of the last

  bool operator==(const Focus&) const = default;
};

/// Something a person decided, by the word of Task.Actions.
struct Act {
  std::string action;
  std::uint64_t task = 0;
  std::string digest;  ///< what is accepted
  std::string text;    ///< a reply; for work, the branch it lands on, or empty
};

/// Every task there is to list.
struct TasksUpdate {
  std::vector<TaskView> tasks;
};

/// The focused task.
struct TaskUpdate {
  std::uint64_t task = 0;
  Dictionary properties;
  std::vector<Dictionary> runs;
  std::vector<Dictionary> findings;
};

/// A piece of the focused page's text: whole lines, visible.
struct TextUpdate {
  Focus focus;
  bool first = false;  ///< what was shown before is replaced
  bool last = false;   ///< nothing follows
  bool cut = false;    ///< there is more than is shown
  std::string text;
  std::string digest;   ///< of the whole
  std::string problem;  ///< why there is none, or empty
  bool late = false;    ///< what came before is not shown
};

/// Whether somebody answers.
struct ServiceUpdate {
  bool there = false;
  std::string words;  ///< what is waited for
};

/// How an order ended.
struct OutcomeUpdate {
  Act act;
  std::optional<Failure> failure;
};

using Update = std::variant<TasksUpdate, TaskUpdate, TextUpdate, ServiceUpdate, OutcomeUpdate>;

}  // namespace coffer::cli::ui
