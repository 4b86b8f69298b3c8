#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "diff_text.hpp"
#include "format.hpp"

namespace coffer::cli::ui {

/// The first columns of a line.
StyledLine cropped(const StyledLine& line, std::size_t width);

/// A long text of which a few lines are on the screen: lines are only made into what is drawn when they are asked for.
/// Texts must be visible already, and less than 4 GiB.
class Document {
 public:
  /// Prose is wrapped at words; the lines of a diff stay whole, and show their tabs and the spaces at their ends.
  enum class Kind { Prose, Diff };

  explicit Document(Kind kind) : kind_(kind) {}

  /// Whole lines, each with its end; the last of the text may lack it.
  void append(std::string_view text);
  void append(const std::vector<StyledLine>& lines);

  [[nodiscard]] std::size_t lines() const { return lines_.size(); }
  [[nodiscard]] std::size_t bytes() const { return text_.size(); }

  /// Rows of a screen this wide. Cheap when neither the text nor the width has changed.
  std::size_t rows(std::size_t width);
  /// Row `index` of the last rows(), beginning at column `left`, at most `width` columns.
  [[nodiscard]] StyledLine row(std::size_t index, std::size_t left, std::size_t width) const;
  /// Columns of the longest line, at most: what there is to move to the side.
  [[nodiscard]] std::size_t widest() const { return widest_; }

  /// The row after (or before) this one where a file or hunk of a diff begins.
  [[nodiscard]] std::optional<std::size_t> nextChange(std::size_t row) const;
  [[nodiscard]] std::optional<std::size_t> previousChange(std::size_t row) const;
  /// What the diff changes.
  [[nodiscard]] std::vector<DiffFile> files() const { return filesOf(text_); }

 private:
  /// An offset in the text, or a number of what is in it: there may be millions of lines, so they are kept small.
  using Place = std::uint32_t;
  struct Line {
    Place begin;
    Place end;
    Place cells;  ///< where its cells begin in cells_, when it has some
    std::uint16_t cellCount;
    DiffLine diff;
  };
  /// A part of a line's text that keeps its tone.
  struct Piece {
    Place bytes;
    Tone tone;
  };
  struct Row {
    Place line;
    Place begin;  ///< in the text
    Place end;
  };

  [[nodiscard]] Place place() const { return static_cast<Place>(text_.size()); }
  [[nodiscard]] bool beginsChange(std::size_t line) const;
  void wrap(std::size_t line);
  [[nodiscard]] Tone toneAt(const Line& line, std::size_t offset) const;

  Kind kind_;
  DiffReader reader_;
  std::string text_;
  std::vector<Line> lines_;
  std::vector<Piece> cells_;
  std::vector<Row> rows_;  ///< of prose, for lines up to wrapped_
  std::size_t wrapped_ = 0;
  std::size_t width_ = 0;
  std::size_t widest_ = 0;
};

}  // namespace coffer::cli::ui
