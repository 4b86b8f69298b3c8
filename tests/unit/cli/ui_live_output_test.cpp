#include <gtest/gtest.h>

#include "ui/live_output.hpp"

namespace coffer::cli::ui {
namespace {

TEST(LiveOutput, GivesWholeLinesOnceWhileThePieceGrows) {
  LiveOutput output(5, "");
  EXPECT_EQ(output.take("one\ntw", false), "one\n");
  EXPECT_EQ(output.take("one\ntw", false), "");
  EXPECT_EQ(output.take("one\ntwo\n", false), "two\n");
  EXPECT_EQ(output.take("one\ntwo\nthree\nfo", false), "three\n");
}

TEST(LiveOutput, JoinsALineThatTwoPiecesShare) {
  LiveOutput output(5, "");
  EXPECT_EQ(output.take("one\ntw", true), "one\n");
  EXPECT_EQ(output.take("o\nthree", false), "two\n");
  EXPECT_EQ(output.take("o\nthree\n", false), "three\n");
}

TEST(LiveOutput, HalfACharacterIsReadAgain) {
  LiveOutput output(5, "");
  EXPECT_EQ(output.take("a\xef\xbf\xbd", false), "");
  EXPECT_EQ(output.take("a\xc3\xa4\n", false), "a\xc3\xa4\n");
}

TEST(LiveOutput, NothingInItActs) {
  LiveOutput output(5, "");
  EXPECT_EQ(output.take("\x1b[2J\xe2\x80\xae\n", false), "<U+001B>[2J<U+202E>\n");
}

}  // namespace
}  // namespace coffer::cli::ui
