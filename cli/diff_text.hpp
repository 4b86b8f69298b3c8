#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "format.hpp"

namespace coffer::cli {

/// The diff with every character that would act or hide as a code point, also a carriage return at the end of a line.
std::string visibleDiff(std::string_view diff);

/// The diff with colours; the text has to be visible already.
std::string paintedDiff(std::string_view diff, const Paint& paint);

struct DiffFile {
  std::string name;
  std::size_t added = 0;
  std::size_t removed = 0;
  bool binary = false;
};

/// Which files a diff changes, and by how many lines.
std::vector<DiffFile> filesOf(std::string_view diff);

/// A line for each file and one for all.
std::string summaryOf(const std::vector<DiffFile>& files, const Paint& paint);

}  // namespace coffer::cli
