#include "ui/document.hpp"

#include <algorithm>

namespace coffer::cli::ui {

namespace {

constexpr std::size_t kTab = 8;
constexpr std::string_view kTabMark = "→";
constexpr std::string_view kSpaceMark = "·";

std::size_t afterTab(std::size_t column) { return (column / kTab + 1) * kTab; }

/// Where the spaces and tabs at the end of a line begin.
std::size_t endOfWords(std::string_view line) {
  const auto last = line.find_last_not_of(" \t");
  return last == std::string_view::npos ? 0 : last + 1;
}

/// Puts what is between two columns into cells, joining what has the same tone.
class Crop {
 public:
  Crop(std::size_t left, std::size_t width) : left_(left), right_(left + width) {}

  void add(std::string_view bytes, std::size_t columns, Tone tone) {
    const auto begin = column_;
    column_ += columns;
    // A combining character belongs to what is before it.
    if (columns == 0 ? begin <= left_ || begin > right_ : column_ <= left_ || begin >= right_) return;
    // Half of a wide character cannot be shown.
    const bool whole = begin >= left_ && column_ <= right_;
    const auto shown = std::min(column_, right_) - std::max(begin, left_);
    put(whole ? std::string(bytes) : std::string(shown, ' '), tone);
  }
  [[nodiscard]] std::size_t column() const { return column_; }
  [[nodiscard]] bool full() const { return column_ > right_; }
  StyledLine take() { return std::move(line_); }

 private:
  void put(std::string text, Tone tone) {
    if (line_.empty() || line_.back().tone != tone)
      line_.push_back({std::move(text), tone});
    else
      line_.back().text += text;
  }

  std::size_t left_;
  std::size_t right_;
  std::size_t column_ = 0;
  StyledLine line_;
};

}  // namespace

StyledLine cropped(const StyledLine& line, std::size_t width) {
  Crop crop(0, width);
  for (const auto& cell : line) {
    auto text = std::string_view(cell.text);
    while (!text.empty() && !crop.full()) {
      const auto character = firstCharacter(text);
      crop.add(character.bytes == "\t" ? " " : character.bytes, character.width, cell.tone);
      text.remove_prefix(character.bytes.size());
    }
  }
  return crop.take();
}

void Document::append(std::string_view text) {
  while (!text.empty()) {
    const auto line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const auto begin = place();
    text_.append(line);
    lines_.push_back({begin, place(), 0, 0, kind_ == Kind::Diff ? reader_.next(line) : DiffLine::Context});
    text_ += '\n';
    // No character is wider than its bytes but a tab.
    const auto tabs = static_cast<std::size_t>(std::ranges::count(line, '\t'));
    widest_ = std::max(widest_, line.size() + tabs * (kTab - 1));
  }
}

void Document::append(const std::vector<StyledLine>& lines) {
  for (const auto& line : lines) {
    const auto begin = place();
    const auto cells = static_cast<Place>(cells_.size());
    for (const auto& cell : line) {
      text_ += cell.text;
      cells_.push_back({static_cast<Place>(cell.text.size()), cell.tone});
    }
    lines_.push_back({begin, place(), cells, static_cast<std::uint16_t>(line.size()), DiffLine::Context});
    text_ += '\n';
  }
}

std::size_t Document::rows(std::size_t width) {
  if (kind_ == Kind::Diff) return lines_.size();
  width = std::max<std::size_t>(width, 2);
  if (width != width_) {
    rows_.clear();
    wrapped_ = 0;
    width_ = width;
  }
  for (; wrapped_ < lines_.size(); ++wrapped_)
    wrap(wrapped_);
  return rows_.size();
}

void Document::wrap(std::size_t index) {
  const auto& line = lines_[index];
  const auto add = [&](std::size_t begin, std::size_t end) {
    rows_.push_back(
        {static_cast<Place>(index), static_cast<Place>(line.begin + begin), static_cast<Place>(line.begin + end)});
  };
  const auto text = std::string_view(text_).substr(line.begin, line.end - line.begin);
  // No character is wider than its bytes but a tab, so most lines need not be measured.
  if (text.size() <= width_ && text.find('\t') == std::string_view::npos) {
    add(0, text.size());
    return;
  }
  std::size_t begin = 0;
  std::size_t column = 0;
  std::size_t afterSpace = 0;
  for (std::size_t at = 0; at < text.size();) {
    const auto character = firstCharacter(text.substr(at));
    const bool tab = character.bytes == "\t";
    const auto next = tab ? afterTab(column) : column + character.width;
    // A space that does not fit any more is not missed.
    if (next > width_ && character.bytes != " " && !tab) {
      const auto cut = afterSpace > begin ? afterSpace : at;
      add(begin, cut);
      begin = at = cut;
      column = 0;
      continue;
    }
    column = next;
    at += character.bytes.size();
    if (character.bytes == " " || tab) afterSpace = at;
  }
  add(begin, text.size());
}

Tone Document::toneAt(const Line& line, std::size_t offset) const {
  std::size_t at = line.begin;
  for (std::size_t i = line.cells; i < line.cells + line.cellCount; ++i) {
    at += cells_[i].bytes;
    if (offset < at) return cells_[i].tone;
  }
  return Tone::Plain;
}

StyledLine Document::row(std::size_t index, std::size_t left, std::size_t width) const {
  Crop crop(left, width);
  if (kind_ == Kind::Prose) {
    const auto& row = rows_[index];
    const auto& line = lines_[row.line];
    const auto text = std::string_view(text_).substr(row.begin, row.end - row.begin);
    for (std::size_t at = 0; at < text.size() && !crop.full();) {
      const auto character = firstCharacter(text.substr(at));
      const auto tone = toneAt(line, row.begin + at);
      if (character.bytes == "\t") {
        while (crop.column() % kTab != kTab - 1)
          crop.add(" ", 1, tone);
        crop.add(" ", 1, tone);
      } else {
        crop.add(character.bytes, character.width, tone);
      }
      at += character.bytes.size();
    }
    return crop.take();
  }
  const auto& line = lines_[index];
  const auto text = std::string_view(text_).substr(line.begin, line.end - line.begin);
  const auto tone = toneOf(line.diff);
  const bool content = line.diff == DiffLine::Added || line.diff == DiffLine::Removed || line.diff == DiffLine::Context;
  // The sign of a context line is a space, and is no content.
  const auto end = content ? std::max<std::size_t>(endOfWords(text), 1) : text.size();
  std::size_t start = 0;
  for (std::size_t at = 0; at < text.size() && !crop.full();) {
    const auto character = firstCharacter(text.substr(at));
    const bool trailing = at >= end;
    if (character.bytes == "\t") {
      // Tabs stop where they would without the sign.
      const auto columns = afterTab(crop.column() - start) + start - crop.column();
      crop.add(kTabMark, 1, trailing ? Tone::Mark : Tone::Faint);
      for (std::size_t i = 1; i < columns; ++i)
        crop.add(" ", 1, trailing ? Tone::Mark : tone);
    } else if (trailing && character.bytes == " ") {
      crop.add(kSpaceMark, 1, Tone::Mark);
    } else {
      crop.add(character.bytes, character.width, tone);
    }
    at += character.bytes.size();
    if (at == 1 && content) start = 1;
  }
  return crop.take();
}

bool Document::beginsChange(std::size_t line) const {
  const auto& at = lines_[line];
  if (at.diff == DiffLine::HunkHeading) return true;
  return at.diff == DiffLine::Heading && std::string_view(text_).substr(at.begin).starts_with("diff --git ");
}

std::optional<std::size_t> Document::nextChange(std::size_t row) const {
  if (kind_ != Kind::Diff) return std::nullopt;
  for (std::size_t line = row + 1; line < lines_.size(); ++line)
    if (beginsChange(line)) return line;
  return std::nullopt;
}

std::optional<std::size_t> Document::previousChange(std::size_t row) const {
  if (kind_ != Kind::Diff) return std::nullopt;
  for (std::size_t line = std::min(row, lines_.size()); line-- > 0;)
    if (beginsChange(line)) return line;
  return std::nullopt;
}

}  // namespace coffer::cli::ui
