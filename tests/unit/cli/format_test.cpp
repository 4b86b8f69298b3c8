#include "format.hpp"

#include <gtest/gtest.h>

#include "diff_text.hpp"

namespace coffer::cli {
namespace {

using std::chrono::seconds;

TEST(DisplayWidth, CountsColumnsNotBytes) {
  EXPECT_EQ(displayWidth("zlib"), 4U);
  EXPECT_EQ(displayWidth("größe"), 5U);
  EXPECT_EQ(displayWidth("漢字"), 4U);
  EXPECT_EQ(displayWidth("e\xcc\x81"), 1U);  // e and a combining accent
  EXPECT_EQ(displayWidth(""), 0U);
}

TEST(DisplayWidth, CountsABrokenByteAsOneColumn) {
  EXPECT_EQ(displayWidth("a\xff"
                         "b"),
            3U);
}

TEST(Fitted, CutsBetweenCharactersAndNeverExceedsTheWidth) {
  EXPECT_EQ(fitted("inflate", 7), "inflate");
  EXPECT_EQ(fitted("inflate", 4), "inf…");
  EXPECT_EQ(fitted("漢字漢字", 4), "漢…");  // the second would need a column that is not there
  EXPECT_EQ(fitted("漢字", 0), "");
  for (std::size_t width = 0; width < 12; ++width)
    EXPECT_LE(displayWidth(fitted("a漢b字c", width)), width);
}

TEST(FirstLine, MarksWhatIsLeftOut) {
  EXPECT_EQ(firstLine("one"), "one");
  EXPECT_EQ(firstLine("one\n"), "one");
  EXPECT_EQ(firstLine("one\n\ntwo"), "one…");
  EXPECT_EQ(firstLine(""), "");
  EXPECT_EQ(firstLine("a\tb"), "a b");
}

TEST(Duration, UsesTheTwoUnitsThatMatter) {
  EXPECT_EQ(duration(Microseconds(0)), "0.0 s");
  EXPECT_EQ(duration(Microseconds(412'000)), "0.4 s");
  EXPECT_EQ(duration(seconds(12)), "12 s");
  EXPECT_EQ(duration(seconds(192)), "3 min 12 s");
  EXPECT_EQ(duration(seconds(7500)), "2 h 05 min");
  EXPECT_EQ(duration(seconds(3 * 86400 + 4 * 3600)), "3 d 4 h");
  EXPECT_EQ(duration(Microseconds(-5)), "0.0 s");
  EXPECT_EQ(duration(Microseconds(9'960'000)), "9 s");  // never "10.0 s"
}

TEST(ClockTime, GrowsAnHourOnlyWhenThereIsOne) {
  EXPECT_EQ(clockTime(seconds(5)), "00:05");
  EXPECT_EQ(clockTime(seconds(3599)), "59:59");
  EXPECT_EQ(clockTime(seconds(3723)), "1:02:03");
}

TEST(Numbers, StayShort) {
  EXPECT_EQ(sizeText(512), "512 B");
  EXPECT_EQ(sizeText(1536), "1.5 KiB");
  EXPECT_EQ(sizeText(std::uint64_t{8} << 30), "8.0 GiB");
  EXPECT_EQ(sizeText(1024 * 1024 - 1), "1.0 MiB");  // not "1024.0 KiB"
  EXPECT_EQ(countText(950), "950");
  EXPECT_EQ(countText(12345), "12.3k");
  EXPECT_EQ(countText(999'999), "1.0M");
  EXPECT_EQ(costText(12'300), "$0.0123");
  EXPECT_EQ(costText(12'345'678), "$12.35");
  EXPECT_EQ(costText(-1), "");
}

TEST(RelativeTime, LooksBothWays) {
  constexpr std::uint64_t kNow = 1'000'000'000'000'000;
  constexpr std::uint64_t kSecond = 1'000'000;
  EXPECT_EQ(relativeTime(kNow, kNow), "just now");
  EXPECT_EQ(relativeTime(kNow - 30 * kSecond, kNow), "30 s ago");
  EXPECT_EQ(relativeTime(kNow - 180 * kSecond, kNow), "3 min ago");
  EXPECT_EQ(relativeTime(kNow - 7200 * kSecond, kNow), "2 h ago");
  EXPECT_EQ(relativeTime(kNow - 5 * 86400 * kSecond, kNow), "5 d ago");
  EXPECT_EQ(relativeTime(kNow + 300 * kSecond, kNow), "in 5 min");
  EXPECT_EQ(relativeTime(kNow + 1, kNow), "in 1 s");
}

TEST(ShellWord, CanBePastedBack) {
  EXPECT_EQ(shellWord("user@host"), "user@host");
  EXPECT_EQ(shellWord(""), "''");
  EXPECT_EQ(shellWord("a b"), "'a b'");
  EXPECT_EQ(shellWord("it's"), "'it'\\''s'");
}

TEST(Paint, LeavesTextAloneWithoutColour) {
  EXPECT_EQ(Paint(false)(Tone::Bad, "red"), "red");
  EXPECT_EQ(Paint(true)(Tone::Bad, "red"), "\x1b[31mred\x1b[0m");
  EXPECT_EQ(Paint(true)(Tone::Plain, "plain"), "plain");
  EXPECT_EQ(Paint(true)(Tone::Bad, ""), "");
}

Table sample() {
  Table table({{"TASK", Align::Right}, {"PROJECT"}, {"TITLE"}});
  table.add({{"7"}, {"größe"}, {"Fix the overflow"}});
  table.add({{"1234"}, {"漢字"}, {"Another title that is long"}});
  return table;
}

TEST(Table, LinesUpWithWideAndNarrowCharacters) {
  EXPECT_EQ(sample().text(Paint(false), std::nullopt),
            "TASK  PROJECT  TITLE\n"
            "   7  größe    Fix the overflow\n"
            "1234  漢字     Another title that is long\n");
}

TEST(Table, CutsTheLastColumnToTheTerminal) {
  const auto text = sample().text(Paint(false), 30);
  for (const auto line : linesOf(text))
    EXPECT_LE(displayWidth(line), 30U) << line;
  EXPECT_NE(text.find("…"), std::string::npos);
}

TEST(Table, CutsWhatIsSharedSoThatTheLastColumnIsSeen) {
  Table table({{"TASK", Align::Right}, {"STATE", Align::Left, Fit::Shared}, {"TITLE"}});
  table.add({{"7"}, {std::string(190, 's')}, {"Fix the overflow in inflate, and more"}});
  table.add({{"8"}, {"writing"}, {"Short"}});
  const auto lines = table.lines(60);
  for (const auto& line : lines) {
    std::string text;
    for (const auto& cell : line)
      text += cell.text;
    EXPECT_LE(displayWidth(text), 60U) << text;
  }
  EXPECT_TRUE(table.text(Paint(false), 60).contains("sss…  Fix the overflow in inf")) << table.text(Paint(false), 60);
  EXPECT_TRUE(table.text(Paint(false), std::nullopt).contains(std::string(190, 's')));
  // What the last column does not need the shared one has.
  Table roomy({{"STATE", Align::Left, Fit::Shared}, {"TITLE"}});
  roomy.add({{std::string(50, 's')}, {"Short"}});
  EXPECT_EQ(roomy.text(Paint(false), 60),
            "STATE" + std::string(47, ' ') + "TITLE\n" + std::string(50, 's') + "  Short\n");
}

TEST(Table, KeepsEverythingWhenItIsNoTerminal) {
  EXPECT_EQ(sample().text(Paint(false), std::nullopt).find("…"), std::string::npos);
}

TEST(Table, ColourDoesNotMoveColumns) {
  Table plain({{"A"}, {"B"}});
  plain.add({{"x"}, {"y"}});
  Table coloured({{"A"}, {"B"}});
  coloured.add({{"x", Tone::Good}, {"y", Tone::Bad}});
  auto text = coloured.text(Paint(true), std::nullopt);
  for (const std::string code : {"\x1b[32m", "\x1b[31m", "\x1b[2m", "\x1b[0m"})
    for (auto at = text.find(code); at != std::string::npos; at = text.find(code))
      text.erase(at, code.size());
  EXPECT_EQ(text, plain.text(Paint(false), std::nullopt));
}

TEST(Table, EndsNoLineInSpaces) {
  Table table({{""}, {""}, {""}});
  table.add({{"a"}, {""}, {""}});
  table.add({{"bbb"}, {"c"}});
  EXPECT_EQ(table.text(Paint(false), std::nullopt, "  "), "  a\n  bbb  c\n");
}

constexpr std::string_view kDiff =
    "diff --git a/inflate.c b/inflate.c\n"
    "index 1..2 100644\n"
    "--- a/inflate.c\n"
    "+++ b/inflate.c\n"
    "@@ -1,3 +1,3 @@\n"
    " a\n"
    "--- not a heading\n"
    "+++ not one either\n"
    " c\n"
    "diff --git a/new.txt b/new.txt\n"
    "new file mode 100644\n"
    "--- /dev/null\n"
    "+++ b/new.txt\n"
    "@@ -0,0 +1 @@\n"
    "+one\n"
    "\\ No newline at end of file\n"
    "diff --git a/logo.png b/logo.png\n"
    "Binary files a/logo.png and b/logo.png differ\n";

TEST(Diff, CountsLinesOfEachFile) {
  const auto files = filesOf(kDiff);
  ASSERT_EQ(files.size(), 3U);
  EXPECT_EQ(files[0].name, "inflate.c");
  EXPECT_EQ(files[0].added, 1U);
  EXPECT_EQ(files[0].removed, 1U);
  EXPECT_EQ(files[1].name, "new.txt");
  EXPECT_EQ(files[1].added, 1U);
  EXPECT_EQ(files[1].removed, 0U);
  EXPECT_EQ(files[2].name, "logo.png");
  EXPECT_TRUE(files[2].binary);
}

TEST(Diff, ContentCannotPretendToBeAHeading) {
  const auto files = filesOf(
      "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n-diff --git a/x b/x\n+diff --git a/y b/y\n context\n");
  ASSERT_EQ(files.size(), 1U);
  EXPECT_EQ(files[0].name, "a");
}

TEST(Diff, ShowsWhatTurnsOrHidesText) {
  EXPECT_EQ(visibleDiff("+a\xe2\x80\xae"
                        "b\r\n"),
            "+a<U+202E>b<U+000D>\n");
  EXPECT_EQ(visibleDiff("+\x1b[2J\n"), "+<U+001B>[2J\n");
  EXPECT_EQ(visibleDiff("+\ttab\n"), "+\ttab\n");
}

TEST(Diff, SummaryNamesTheTotals) {
  const auto text = summaryOf(filesOf(kDiff), Paint(false));
  EXPECT_NE(text.find("3 files, +2 -1"), std::string::npos) << text;
}

}  // namespace
}  // namespace coffer::cli
