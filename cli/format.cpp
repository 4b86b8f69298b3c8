#include "format.hpp"

#include <algorithm>
#include <array>
#include <ctime>
#include <format>
#include <ranges>

#include <glib.h>

namespace coffer::cli {

namespace {

constexpr std::string_view kEllipsis = "…";
constexpr std::string_view kGap = "  ";
/// Below this a column says nothing any more, so a narrow terminal wraps instead.
constexpr std::size_t kNarrowestColumn = 8;

std::size_t characterWidth(gunichar character) {
  if (g_unichar_iszerowidth(character)) return 0;
  return g_unichar_iswide(character) ? 2 : 1;
}

/// Calls `each` with every character (its bytes and its width) until it says false.
template <typename Each>
void forEachCharacter(std::string_view text, Each each) {
  while (!text.empty()) {
    const auto character = firstCharacter(text);
    if (!each(character.bytes, character.width)) return;
    text.remove_prefix(character.bytes.size());
  }
}

std::string_view colourOf(Tone tone) {
  switch (tone) {
    case Tone::Strong:
      return "\x1b[1m";
    case Tone::Faint:
      return "\x1b[2m";
    case Tone::Good:
      return "\x1b[32m";
    case Tone::Bad:
      return "\x1b[31m";
    case Tone::Attention:
      return "\x1b[33m";
    case Tone::Mark:
      return "\x1b[7m";
    case Tone::Plain:
      break;
  }
  return "";
}

std::string scaled(std::uint64_t number, std::uint64_t step, std::string_view gap,
                   const std::array<std::string_view, 6>& units) {
  if (number < step) return std::format("{}{}{}", number, units[0].empty() ? "" : gap, units[0]);
  double value = static_cast<double>(number);
  std::size_t unit = 0;
  // 999.95 would be shown as 1000.0, so it goes to the next unit.
  while (unit + 1 < units.size() && value >= static_cast<double>(step) - 0.05) {
    value /= static_cast<double>(step);
    ++unit;
  }
  return std::format("{:.1f}{}{}", value, gap, units[unit]);
}

/// A length in its largest unit alone, for "... ago".
std::string coarse(std::uint64_t seconds) {
  if (seconds < 60) return std::format("{} s", seconds);
  if (seconds < 3600) return std::format("{} min", seconds / 60);
  if (seconds < 86400) return std::format("{} h", seconds / 3600);
  return std::format("{} d", seconds / 86400);
}

}  // namespace

Character firstCharacter(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  if (first >= 0x20 && first < 0x7f) return {text.substr(0, 1), 1};
  // Only as many bytes as a character can have: validating looks for a zero in all of what it is given.
  const auto head = text.substr(0, 6);
  const gunichar character = g_utf8_get_char_validated(head.data(), static_cast<gssize>(head.size()));
  const bool valid = character != static_cast<gunichar>(-1) && character != static_cast<gunichar>(-2);
  if (!valid) return {text.substr(0, 1), 1};
  return {text.substr(0, static_cast<std::size_t>(g_unichar_to_utf8(character, nullptr))), characterWidth(character)};
}

std::size_t displayWidth(std::string_view text) {
  std::size_t width = 0;
  forEachCharacter(text, [&](std::string_view, std::size_t columns) {
    width += columns;
    return true;
  });
  return width;
}

std::string fitted(std::string_view text, std::size_t columns) {
  if (displayWidth(text) <= columns) return std::string(text);
  if (columns == 0) return {};
  std::string result;
  std::size_t width = 1;  // the ellipsis
  forEachCharacter(text, [&](std::string_view bytes, std::size_t needed) {
    if (width + needed > columns) return false;
    result += bytes;
    width += needed;
    return true;
  });
  return result.append(kEllipsis);
}

std::string firstLine(std::string_view text) {
  const auto lines = linesOf(text);
  if (lines.empty()) return {};
  const bool more =
      std::ranges::any_of(lines | std::views::drop(1), [](std::string_view line) { return !line.empty(); });
  auto first = std::string(lines.front()) + (more ? std::string(kEllipsis) : std::string());
  std::ranges::replace(first, '\t', ' ');  // whose width depends on where it stands
  return first;
}

std::vector<std::string_view> linesOf(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const auto end = text.find('\n');
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return lines;
}

std::string duration(Microseconds length) {
  const auto micros = std::max<std::int64_t>(length.count(), 0);
  if (micros < 9'950'000) return std::format("{:.1f} s", static_cast<double>(micros) / 1e6);
  const auto seconds = micros / 1'000'000;
  if (seconds < 60) return std::format("{} s", seconds);
  if (seconds < 3600) return std::format("{} min {:02} s", seconds / 60, seconds % 60);
  if (seconds < 86400) return std::format("{} h {:02} min", seconds / 3600, seconds % 3600 / 60);
  return std::format("{} d {} h", seconds / 86400, seconds % 86400 / 3600);
}

std::string clockTime(Microseconds length) {
  const auto seconds = std::max<std::int64_t>(length.count(), 0) / 1'000'000;
  if (seconds < 3600) return std::format("{:02}:{:02}", seconds / 60, seconds % 60);
  return std::format("{}:{:02}:{:02}", seconds / 3600, seconds % 3600 / 60, seconds % 60);
}

std::string sizeText(std::uint64_t bytes) { return scaled(bytes, 1024, " ", {"B", "KiB", "MiB", "GiB", "TiB", "PiB"}); }

std::string countText(std::uint64_t count) { return scaled(count, 1000, "", {"", "k", "M", "G", "T", "P"}); }

std::string costText(std::int64_t micro) {
  if (micro < 0) return {};
  return std::format("${:.{}f}", static_cast<double>(micro) / 1e6, micro < 1'000'000 ? 4 : 2);
}

std::string relativeTime(std::uint64_t when, std::uint64_t now) {
  if (when > now) {
    const auto seconds = (when - now + 999'999) / 1'000'000;
    return "in " + coarse(seconds);
  }
  const auto seconds = (now - when) / 1'000'000;
  return seconds < 5 ? "just now" : coarse(seconds) + " ago";
}

std::string absoluteTime(std::uint64_t when) {
  const auto seconds = static_cast<std::time_t>(when / 1'000'000);
  std::tm local{};
  if (!localtime_r(&seconds, &local)) return {};
  std::array<char, 32> text{};
  const auto length = std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M", &local);
  return {text.data(), length};
}

std::string shortCommit(std::string_view commit) { return std::string(commit.substr(0, 12)); }

std::string shellWord(std::string_view word) {
  constexpr std::string_view kPlain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_./:=@%+,";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string_view::npos) return std::string(word);
  std::string quoted = "'";
  for (const char letter : word) {
    if (letter == '\'')
      quoted += "'\\''";
    else
      quoted += letter;
  }
  return quoted + "'";
}

std::string Paint::operator()(Tone tone, std::string_view text) const {
  if (!colour_ || tone == Tone::Plain || text.empty()) return std::string(text);
  return std::format("{}{}\x1b[0m", colourOf(tone), text);
}

std::string painted(const std::vector<StyledLine>& lines, const Paint& paint) {
  std::string result;
  for (const auto& line : lines) {
    for (const auto& cell : line)
      result += paint(cell.tone, cell.text);
    result += '\n';
  }
  return result;
}

std::string Table::text(const Paint& paint, std::optional<std::size_t> width, std::string_view indent) const {
  return painted(lines(width, indent), paint);
}

std::vector<StyledLine> Table::lines(std::optional<std::size_t> width, std::string_view indent) const {
  const bool headed = std::ranges::any_of(columns_, [](const Column& column) { return !column.heading.empty(); });
  std::vector<std::size_t> widths;
  widths.reserve(columns_.size());
  for (const auto& column : columns_)
    widths.push_back(displayWidth(column.heading));
  for (const auto& row : rows_)
    for (std::size_t i = 0; i < std::min(row.size(), widths.size()); ++i)
      widths[i] = std::max(widths[i], displayWidth(row[i].text));

  if (width && !widths.empty()) {
    const auto last = widths.size() - 1;
    std::size_t whole = displayWidth(indent) + last * kGap.size();
    for (std::size_t i = 0; i < last; ++i)
      if (columns_[i].fit == Fit::Whole) whole += widths[i];
    auto left = *width > whole ? *width - whole : 0;
    for (std::size_t i = 0; i < last; ++i) {
      if (columns_[i].fit == Fit::Whole) continue;
      const auto notNeeded = left - std::min(widths[last], left);
      widths[i] = std::min(widths[i], std::max({left * 2 / 5, notNeeded, kNarrowestColumn}));
      left -= std::min(widths[i], left);
    }
    widths.back() = std::min(widths.back(), std::max(left, kNarrowestColumn));
  }

  const auto line = [&](const std::vector<Cell>& row) {
    StyledLine result;
    if (!indent.empty()) result.push_back({std::string(indent)});
    std::size_t pending = 0;  // spaces owed before the next visible cell, so that no line ends in them
    for (std::size_t i = 0; i < widths.size(); ++i) {
      static const Cell kEmpty;
      const Cell& cell = i < row.size() ? row[i] : kEmpty;
      const auto shown = fitted(cell.text, widths[i]);
      const auto padding = widths[i] - std::min(displayWidth(shown), widths[i]);
      if (columns_[i].align == Align::Right) pending += padding;
      if (!shown.empty()) {
        if (pending > 0) result.push_back({std::string(pending, ' ')});
        pending = 0;
        result.push_back({shown, cell.tone});
      }
      if (columns_[i].align == Align::Left) pending += padding;
      pending += kGap.size();
    }
    return result;
  };

  std::vector<StyledLine> result;
  if (headed) {
    std::vector<Cell> headings;
    for (const auto& column : columns_)
      headings.push_back({column.heading, Tone::Faint});
    result.push_back(line(headings));
  }
  for (const auto& row : rows_)
    result.push_back(line(row));
  return result;
}

}  // namespace coffer::cli
