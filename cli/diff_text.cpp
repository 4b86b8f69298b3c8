#include "diff_text.hpp"

#include <charconv>
#include <format>

#include "model/visible_text.hpp"

namespace coffer::cli {

namespace {

/// Lines that a hunk's heading says will follow: content, whatever it begins with.
struct Hunk {
  std::size_t oldLines = 0;
  std::size_t newLines = 0;
  [[nodiscard]] bool open() const { return oldLines > 0 || newLines > 0; }
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

enum class Kind { Heading, HunkHeading, Added, Removed, Context };

/// Calls `each` with the kind of every line. A line inside a hunk is never taken for a heading.
template <typename Each>
void forEachLine(std::string_view diff, Each each) {
  Hunk hunk;
  for (const auto line : linesOf(diff)) {
    if (hunk.open() && !line.starts_with('\\')) {
      const char sign = line.empty() ? ' ' : line.front();
      if (sign != '+' && hunk.oldLines > 0) --hunk.oldLines;
      if (sign != '-' && hunk.newLines > 0) --hunk.newLines;
      each(line, sign == '+' ? Kind::Added : sign == '-' ? Kind::Removed : Kind::Context);
    } else if (line.starts_with("@@ ")) {
      hunk = hunkOf(line);
      each(line, Kind::HunkHeading);
    } else {
      each(line, line.starts_with('\\') ? Kind::Context : Kind::Heading);
    }
  }
}

/// The name after "a/" or "b/"; nothing for /dev/null.
std::string_view nameOf(std::string_view line) {
  line.remove_prefix(4);
  if (line == "/dev/null") return {};
  if (line.starts_with("a/") || line.starts_with("b/")) line.remove_prefix(2);
  return line;
}

}  // namespace

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
  forEachLine(diff, [&](std::string_view line, Kind kind) {
    switch (kind) {
      case Kind::Heading:
        result += paint(Tone::Strong, line);
        break;
      case Kind::HunkHeading:
        result += paint(Tone::Attention, line);
        break;
      case Kind::Added:
        result += paint(Tone::Good, line);
        break;
      case Kind::Removed:
        result += paint(Tone::Bad, line);
        break;
      case Kind::Context:
        result += line;
        break;
    }
    result += '\n';
  });
  return result;
}

std::vector<DiffFile> filesOf(std::string_view diff) {
  std::vector<DiffFile> files;
  forEachLine(diff, [&](std::string_view line, Kind kind) {
    if (kind == Kind::Heading && line.starts_with("diff --git ")) {
      // Good enough when no other line names the file (a mode, an empty or a binary one): the half after " b/".
      const auto second = line.rfind(" b/");
      files.push_back(
          {.name = std::string(second == std::string_view::npos ? line.substr(11) : line.substr(second + 3))});
    }
    if (files.empty()) return;
    auto& file = files.back();
    if (kind == Kind::Added) ++file.added;
    if (kind == Kind::Removed) ++file.removed;
    if (kind != Kind::Heading) return;
    if (line.starts_with("--- ") || line.starts_with("+++ ")) {
      if (const auto name = nameOf(line); !name.empty()) file.name = name;
    }
    if (line.starts_with("Binary files ") || line.starts_with("GIT binary patch")) file.binary = true;
  });
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
