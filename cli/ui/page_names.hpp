#pragma once

#include <string_view>
#include <vector>

#include "format.hpp"
#include "ui/messages.hpp"

namespace coffer::cli::ui {

/// The pages of a task in their order, and the keys that open them.
struct PageName {
  Page page;
  std::string_view key;
  std::string_view name;
  std::string_view none;  ///< what is said when the task has nothing for it
};
const std::vector<PageName>& pageNames();
std::string_view nameOf(Page page);

/// All keys, for the page of help.
std::vector<StyledLine> helpLines();

}  // namespace coffer::cli::ui
