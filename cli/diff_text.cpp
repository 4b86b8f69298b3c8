#include "diff_text.hpp"

#include <charconv>
#include <format>

#include "model/visible_text.hpp"

namespace coffer::cli {

namespace {

struct Hunk {
  std::size_t oldLines = 0;
  std::size_t newLines = 0;
};

/// "12,3" after a sign: how many lines; 1 when that is left out.
std::size_t lineCount(std::string_view range) {
  const auto comma = range.find(',');
  if (comma == std::string_view::npos) return 1;
  std::size_t count = 0;
  std::from_chars(range.data() + comma + 1, range.data() + range.size(), count);
  return count;
}

Hunk hunkOf(std::string_view line) {
  // @@ -12,3 +12,4 @@ ...
  const auto minus = line.find('-');
  const auto plus = line.find(" +");
  const auto end = line.find(" @@", 3);
  if (minus == std::string_view::npos || plus == std::string_view::npos || end == std::string_view::npos ||
      plus < minus || end < plus)
    return {};
  return {lineCount(line.substr(minus, plus - minus)), lineCount(line.substr(plus, end - plus))};
}

/// The name after "a/" or "b/"; nothing for /dev/null.
std::string_view nameOf(std::string_view line) {
  line.remove_prefix(4);
  if (line == "/dev/null") return {};
  if (line.starts_with("a/") || line.starts_with("b/")) line.remove_prefix(2);
  return line;
}

}  // namespace

DiffLine DiffReader::next(std::string_view line) {
  if ((oldLines_ > 0 || newLines_ > 0) && !line.starts_with('\\')) {
    const char sign = line.empty() ? ' ' : line.front();
    if (sign != '+' && oldLines_ > 0) --oldLines_;
    if (sign != '-' && newLines_ > 0) --newLines_;
    return sign == '+' ? DiffLine::Added : sign == '-' ? DiffLine::Removed : DiffLine::Context;
  }
  if (line.starts_with("@@ ")) {
    const auto hunk = hunkOf(line);
    oldLines_ = hunk.oldLines;
    newLines_ = hunk.newLines;
    return DiffLine::HunkHeading;
  }
  return line.starts_with('\\') ? DiffLine::Context : DiffLine::Heading;
}

Tone toneOf(DiffLine line) {
  switch (line) {
    case DiffLine::Heading:
      return Tone::Strong;
    case DiffLine::HunkHeading:
      return Tone::Attention;
    case DiffLine::Added:
      return Tone::Good;
    case DiffLine::Removed:
      return Tone::Bad;
    case DiffLine::Context:
      break;
  }
  return Tone::Plain;
}

std::string visibleDiff(std::string_view diff) {
  std::string result;
  result.reserve(diff.size());
  // Line by line, because in a whole text a carriage return before a line feed is nothing worth showing; in a diff it
  // is.
  for (const auto line : linesOf(diff))
    result.append(model::visibleText(line)).append("\n");
  return result;
}

std::string paintedDiff(std::string_view diff, const Paint& paint) {
  std::string result;
  result.reserve(diff.size());
  DiffReader reader;
  for (const auto line : linesOf(diff))
    result.append(paint(toneOf(reader.next(line)), line)).append("\n");
  return result;
}

std::vector<DiffFile> filesOf(std::string_view diff) {
  std::vector<DiffFile> files;
  DiffReader reader;
  for (const auto line : linesOf(diff)) {
    const auto kind = reader.next(line);
    if (kind == DiffLine::Heading && line.starts_with("diff --git ")) {
      // Good enough when no other line names the file (a mode, an empty or a binary one): the half after " b/".
      const auto second = line.rfind(" b/");
      files.push_back(
          {.name = std::string(second == std::string_view::npos ? line.substr(11) : line.substr(second + 3))});
    }
    if (files.empty()) continue;
    auto& file = files.back();
    if (kind == DiffLine::Added) ++file.added;
    if (kind == DiffLine::Removed) ++file.removed;
    if (kind != DiffLine::Heading) continue;
    if (line.starts_with("--- ") || line.starts_with("+++ ")) {
      if (const auto name = nameOf(line); !name.empty()) file.name = name;
    }
    if (line.starts_with("Binary files ") || line.starts_with("GIT binary patch")) file.binary = true;
  }
  return files;
}

std::string summaryOf(const std::vector<DiffFile>& files, const Paint& paint) {
  Table table({{"", Align::Right}, {"", Align::Right}, {""}});
  std::size_t added = 0;
  std::size_t removed = 0;
  for (const auto& file : files) {
    added += file.added;
    removed += file.removed;
    if (file.binary)
      table.add({{"binary", Tone::Attention}, {""}, {file.name}});
    else
      table.add(
          {{std::format("+{}", file.added), Tone::Good}, {std::format("-{}", file.removed), Tone::Bad}, {file.name}});
  }
  return table.text(paint, std::nullopt, "  ") +
         std::format("  {} file{}, +{} -{}\n", files.size(), files.size() == 1 ? "" : "s", added, removed);
}

}  // namespace coffer::cli
