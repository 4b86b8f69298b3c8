#include "ui/task_list.hpp"

#include <algorithm>
#include <array>
#include <format>

#include <glib.h>

namespace coffer::cli::ui {

namespace {

constexpr std::array kGroups = {Group::Waiting, Group::Working, Group::Parked, Group::Done};

std::string folded(const std::string& text) {
  gchar* low = g_utf8_casefold(text.data(), static_cast<gssize>(text.size()));
  std::string result(low);
  g_free(low);
  return result;
}

bool matches(const TaskView& task, const std::string& filter) {
  return filter.empty() || folded(task.name() + "\n" + task.where() + "\n" + task.state).contains(filter);
}

}  // namespace

Group groupOf(const TaskView& task) {
  if (task.ended()) return Group::Done;
  if (task.needsYou()) return Group::Waiting;
  return task.parked.empty() ? Group::Working : Group::Parked;
}

std::string_view headingOf(Group group) {
  switch (group) {
    case Group::Waiting:
      return "Waiting for you";
    case Group::Working:
      return "Working";
    case Group::Parked:
      return "Parked";
    case Group::Done:
      break;
  }
  return "Done";
}

void TaskList::set(std::vector<TaskView> tasks) {
  const auto* before = selected();
  const auto id = before ? before->id : 0;
  const auto row = row_;
  tasks_ = std::move(tasks);
  build();
  const auto same = std::ranges::find_if(rows_, [&](const Row& each) { return each.task && each.task->id == id; });
  if (same != rows_.end()) {
    row_ = static_cast<std::size_t>(same - rows_.begin());
    return;
  }
  row_ = std::min(row, rows_.empty() ? 0 : rows_.size() - 1);
  // A heading is never selected.
  if (!rows_.empty() && !rows_[row_].task) ++row_;
}

void TaskList::filter(std::string text) {
  filter_ = std::move(text);
  set(std::move(tasks_));
}

void TaskList::build() {
  rows_.clear();
  const auto wanted = folded(filter_);
  for (const auto group : kGroups) {
    std::vector<Row> members;
    for (const auto& task : tasks_)
      if (groupOf(task) == group && matches(task, wanted)) members.push_back({group, &task, 0});
    if (members.empty()) continue;
    rows_.push_back({group, nullptr, members.size()});
    std::ranges::move(members, std::back_inserter(rows_));
  }
}

std::size_t TaskList::count(Group group) const {
  return static_cast<std::size_t>(
      std::ranges::count_if(tasks_, [&](const TaskView& task) { return groupOf(task) == group; }));
}

const TaskView* TaskList::selected() const { return row_ < rows_.size() ? rows_[row_].task : nullptr; }

void TaskList::move(std::ptrdiff_t by) {
  const std::ptrdiff_t step = by < 0 ? -1 : 1;
  auto at = static_cast<std::ptrdiff_t>(row_);
  for (auto left = by; left != 0;) {
    at += step;
    if (at < 0 || at >= static_cast<std::ptrdiff_t>(rows_.size())) return;
    if (!rows_[static_cast<std::size_t>(at)].task) continue;
    row_ = static_cast<std::size_t>(at);
    left -= step;
  }
}

bool TaskList::selectRow(std::size_t row) {
  if (row >= rows_.size() || !rows_[row].task) return false;
  row_ = row;
  return true;
}

std::size_t TaskList::top(std::size_t height) {
  if (height == 0 || rows_.size() <= height) return top_ = 0;
  // The heading of the first task of a group is worth a line too.
  const auto wanted = row_ > 0 && !rows_[row_ - 1].task && height > 1 ? row_ - 1 : row_;
  top_ = std::min(top_, wanted);
  if (row_ >= top_ + height) top_ = row_ + 1 - height;
  return top_ = std::min(top_, rows_.size() - height);
}

StyledLine TaskList::line(std::size_t index, std::size_t width) const {
  const auto& row = rows_[index];
  if (!row.task) return {{fitted(std::format("{} ({})", headingOf(row.group), row.count), width), Tone::Strong}};
  const auto& task = *row.task;
  const auto number = std::format("{:>6} ", task.id);
  if (width <= number.size()) return {{fitted(number, width)}};
  const auto left = width - number.size();
  // What it is has three fifths, where it stands the rest; what one does not need the other may have.
  const auto title = (task.project.empty() ? "" : task.project + ": ") + task.title;
  const auto where = firstLine(task.where());
  const auto half = left * 3 / 5;
  const auto titleWidth = displayWidth(title);
  const auto whereWidth = std::min(displayWidth(where), std::max(left - std::min(titleWidth + 2, left), left - half));
  const auto forTitle = left - std::min(whereWidth + 2, left);
  auto shown = fitted(title, forTitle);
  const auto gap = left - std::min(displayWidth(shown) + whereWidth, left);
  shown.append(gap, ' ');
  return {{number, Tone::Faint}, {std::move(shown)}, {fitted(where, whereWidth), task.tone()}};
}

}  // namespace coffer::cli::ui
