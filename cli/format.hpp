#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// How things look on a terminal: numbers, times, colours and tables. Nothing here reads or writes anything; texts are
/// UTF-8 and must have gone through visibleText() before, because a table trusts what it is given.
namespace coffer::cli {

using Microseconds = std::chrono::microseconds;

/// The first character of a text that is not empty: its bytes and the columns a terminal gives to it. A byte that is
/// not UTF-8 is a character.
struct Character {
  std::string_view bytes;
  std::size_t width = 0;
};
Character firstCharacter(std::string_view text);

/// Columns a terminal gives to a UTF-8 text: wide characters count two, combining ones none.
std::size_t displayWidth(std::string_view text);

/// The text, cut to at most `columns` columns; a cut one ends in an ellipsis.
std::string fitted(std::string_view text, std::size_t columns);

/// The first line of a text without tabs, and an ellipsis when there is more.
std::string firstLine(std::string_view text);

/// Each line of a text, the last one without its line end; an empty text has no lines.
std::vector<std::string_view> linesOf(std::string_view text);

/// "0.4 s", "12 s", "3 min 12 s", "2 h 05 min", "3 d 4 h".
std::string duration(Microseconds length);

/// "00:12", "1:02:03": for lines that are written as things happen.
std::string clockTime(Microseconds length);

/// "512 B", "1.5 KiB", "8.0 GiB".
std::string sizeText(std::uint64_t bytes);

/// "950", "12.3k", "1.2M": for tokens.
std::string countText(std::uint64_t count);

/// Millionths of a US dollar as "$0.0123"; nothing for a negative amount, which means "not known".
std::string costText(std::int64_t micro);

/// "just now", "3 min ago", "in 5 min"; both are microseconds of CLOCK_REALTIME.
std::string relativeTime(std::uint64_t when, std::uint64_t now);

/// Local time as "2026-11-30 23:16".
std::string absoluteTime(std::uint64_t when);

/// What is enough of a commit's id to be recognised.
std::string shortCommit(std::string_view commit);

/// A word for a shell, quoted only where it has to be.
std::string shellWord(std::string_view word);

/// Mark: what would not be seen otherwise, as spaces at the end of a line.
enum class Tone { Plain, Strong, Faint, Good, Bad, Attention, Mark };

/// Puts colour around text, or leaves it alone where there is no terminal or NO_COLOR is set.
class Paint {
 public:
  explicit Paint(bool colour) : colour_(colour) {}
  std::string operator()(Tone tone, std::string_view text) const;

 private:
  bool colour_;
};

struct Cell {
  std::string text;
  Tone tone = Tone::Plain;
};

/// One line of a screen.
using StyledLine = std::vector<Cell>;

/// The lines with their colours, each with a line end.
std::string painted(const std::vector<StyledLine>& lines, const Paint& paint);

enum class Align { Left, Right };

/// Whole: never cut. Shared: where a terminal is narrow, cut to two fifths of what the whole columns leave, or to more
/// where the last one does not need the rest.
enum class Fit { Whole, Shared };

/// Columns that line up. The last column takes what is left of the terminal and is cut there; nothing is cut when the
/// output is not a terminal.
class Table {
 public:
  struct Column {
    std::string heading;
    Align align = Align::Left;
    Fit fit = Fit::Whole;
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  /// Missing cells at the end are empty.
  void add(std::vector<Cell> row) { rows_.push_back(std::move(row)); }
  [[nodiscard]] bool empty() const { return rows_.empty(); }

  /// The lines, without spaces at their ends. `width`: columns of the terminal, if there is one. A table whose headings
  /// are all empty has no heading line.
  [[nodiscard]] std::vector<StyledLine> lines(std::optional<std::size_t> width, std::string_view indent = "") const;
  /// The same as text, each line with its end.
  [[nodiscard]] std::string text(const Paint& paint, std::optional<std::size_t> width,
                                 std::string_view indent = "") const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

}  // namespace coffer::cli
