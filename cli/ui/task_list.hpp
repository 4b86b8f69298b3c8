#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "format.hpp"
#include "task_view.hpp"

namespace coffer::cli::ui {

/// In the order in which they are listed.
enum class Group : std::uint8_t { Waiting, Working, Parked, Done };

/// Waiting: until a person decides. Parked: until a time comes. Done: ended, however.
Group groupOf(const TaskView& task);
std::string_view headingOf(Group group);

/// Tasks in groups, and which one is selected.
class TaskList {
 public:
  struct Row {
    Group group;
    const TaskView* task;  ///< none for a group's heading
    std::size_t count;     ///< tasks of the group
  };

  TaskList() = default;
  TaskList(const TaskList&) = delete;
  TaskList& operator=(const TaskList&) = delete;

  /// What was selected stays selected, wherever it is by now; if it is gone, what is in its place.
  void set(std::vector<TaskView> tasks);
  /// Only tasks whose number, project, title or state hold this, in any case of letters; all when it is empty.
  void filter(std::string text);
  [[nodiscard]] const std::string& filter() const { return filter_; }

  [[nodiscard]] const std::vector<Row>& rows() const { return rows_; }
  [[nodiscard]] std::size_t count(Group group) const;
  [[nodiscard]] bool empty() const { return tasks_.empty(); }

  [[nodiscard]] const TaskView* selected() const;
  [[nodiscard]] std::size_t selectedRow() const { return row_; }
  /// By so many tasks, as far as there are any.
  void move(std::ptrdiff_t by);
  /// False when that row is no task.
  bool selectRow(std::size_t row);

  /// The first row that is drawn, so that the selected one is among `height` rows and little moves.
  std::size_t top(std::size_t height);
  [[nodiscard]] StyledLine line(std::size_t row, std::size_t width) const;

 private:
  void build();

  std::vector<TaskView> tasks_;
  std::string filter_;
  std::vector<Row> rows_;
  std::size_t row_ = 0;
  std::size_t top_ = 0;
};

}  // namespace coffer::cli::ui
