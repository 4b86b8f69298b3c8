#include <chrono>

#include <gtest/gtest.h>

#include "ui/document.hpp"

namespace coffer::cli::ui {
namespace {

std::string textOf(const StyledLine& line) {
  std::string text;
  for (const auto& cell : line)
    text += cell.text;
  return text;
}

Tone toneOf(const StyledLine& line, const std::string& text) {
  for (const auto& cell : line)
    if (cell.text.contains(text)) return cell.tone;
  ADD_FAILURE() << "no " << text << " in " << textOf(line);
  return Tone::Plain;
}

std::vector<std::string> rowsOf(Document& document, std::size_t width) {
  std::vector<std::string> rows;
  const auto count = document.rows(width);
  for (std::size_t i = 0; i < count; ++i)
    rows.push_back(textOf(document.row(i, 0, width)));
  return rows;
}

TEST(Document, WrapsProseAtWords) {
  Document document(Document::Kind::Prose);
  document.append("one two three\n\nfour\n");
  EXPECT_EQ(rowsOf(document, 80), (std::vector<std::string>{"one two three", "", "four"}));
  EXPECT_EQ(rowsOf(document, 8), (std::vector<std::string>{"one two ", "three", "", "four"}));
  EXPECT_EQ(rowsOf(document, 4), (std::vector<std::string>{"one ", "two ", "thre", "e", "", "four"}));
}

TEST(Document, WrapsByColumnsNotBytes) {
  Document document(Document::Kind::Prose);
  document.append("äöüäöü 漢字漢字\n");
  EXPECT_EQ(rowsOf(document, 8), (std::vector<std::string>{"äöüäöü ", "漢字漢字"}));
  EXPECT_EQ(rowsOf(document, 3), (std::vector<std::string>{"äöü", "äöü", "漢", "字", "漢", "字"}));
}

TEST(Document, GrowsWithoutMeasuringAgain) {
  Document document(Document::Kind::Prose);
  document.append("one two three\n");
  EXPECT_EQ(document.rows(8), 2U);
  document.append("four\n");
  EXPECT_EQ(document.rows(8), 3U);
  EXPECT_EQ(document.rows(80), 2U);
}

TEST(Document, KeepsTonesWhereALineIsWrapped) {
  Document document(Document::Kind::Prose);
  document.append({StyledLine{{"State ", Tone::Faint}, {"asks you", Tone::Attention}}});
  ASSERT_EQ(document.rows(7), 3U);
  EXPECT_EQ(toneOf(document.row(0, 0, 7), "State"), Tone::Faint);
  EXPECT_EQ(toneOf(document.row(2, 0, 7), "you"), Tone::Attention);
}

constexpr std::string_view kDiff =
    "diff --git a/x.c b/x.c\n--- a/x.c\n+++ b/x.c\n@@ -1,2 +1,3 @@\n keep\n--- gone\n+\tint a;  \n+++ more\n";

TEST(Document, TellsTheLinesOfADiffApart) {
  Document document(Document::Kind::Diff);
  document.append(kDiff);
  ASSERT_EQ(document.rows(80), 8U);
  EXPECT_EQ(toneOf(document.row(0, 0, 80), "diff"), Tone::Strong);
  EXPECT_EQ(toneOf(document.row(3, 0, 80), "@@"), Tone::Attention);
  EXPECT_EQ(toneOf(document.row(4, 0, 80), "keep"), Tone::Plain);
  // Content, though it looks like a heading.
  EXPECT_EQ(toneOf(document.row(5, 0, 80), "--- gone"), Tone::Bad);
  EXPECT_EQ(toneOf(document.row(7, 0, 80), "+++ more"), Tone::Good);
}

TEST(Document, ShowsTabsAndSpacesAtTheEndOfADiffsLines) {
  Document document(Document::Kind::Diff);
  document.append(kDiff);
  const auto line = document.row(6, 0, 80);
  EXPECT_EQ(textOf(line), "+→       int a;··");
  EXPECT_EQ(toneOf(line, "··"), Tone::Mark);
  EXPECT_EQ(toneOf(line, "int a;"), Tone::Good);
  // The sign of a context line is no space at its end.
  document.append(" \n");
  EXPECT_EQ(textOf(document.row(8, 0, 80)), " ");
}

TEST(Document, MovesADiffToTheSide) {
  Document document(Document::Kind::Diff);
  document.append("@@ -1 +1 @@\n+0123456789\n");
  EXPECT_EQ(textOf(document.row(1, 0, 5)), "+0123");
  EXPECT_EQ(textOf(document.row(1, 4, 5)), "34567");
  EXPECT_EQ(textOf(document.row(1, 20, 5)), "");
}

TEST(Document, FindsTheChangesOfADiff) {
  Document document(Document::Kind::Diff);
  document.append(kDiff);
  EXPECT_EQ(document.nextChange(0), 3U);
  EXPECT_EQ(document.nextChange(3), std::nullopt);
  EXPECT_EQ(document.previousChange(3), 0U);
  EXPECT_EQ(document.previousChange(0), std::nullopt);
}

TEST(Document, AnyTextOfEightMebibytesIsShownAtOnce) {
  std::string text = "diff --git a/x b/x\n@@ -0,0 +1,200000 @@\n";
  while (text.size() < 8 * 1024 * 1024)
    text += "+some line of a diff that is about forty characters\n";
  for (const auto kind : {Document::Kind::Diff, Document::Kind::Prose}) {
    Document document(kind);
    document.append(text);
    const auto rows = document.rows(80);
    const auto begin = std::chrono::steady_clock::now();
    for (int screen = 0; screen < 100; ++screen)
      for (std::size_t i = 0; i < 24; ++i)
        EXPECT_FALSE(document.row(rows - 24 + i, 0, 80).empty());
    // A hundred screens; making every line into cells would take a hundred times as long.
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(1));
    EXPECT_EQ(document.rows(80), rows);
  }
}

}  // namespace
}  // namespace coffer::cli::ui
