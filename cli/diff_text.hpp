#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "format.hpp"

namespace coffer::cli {

/// The diff with every character that would act or hide as a code point, also a carriage return at the end of a line.
std::string visibleDiff(std::string_view diff);

enum class DiffLine : std::uint8_t { Heading, HunkHeading, Added, Removed, Context };

/// Tells what the lines of a diff are, one after the other. A line inside a hunk is never taken for a heading.
class DiffReader {
 public:
  DiffLine next(std::string_view line);

 private:
  /// Lines that the hunk's heading said will still follow: content, whatever they begin with.
  std::size_t oldLines_ = 0;
  std::size_t newLines_ = 0;
};

Tone toneOf(DiffLine line);

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
