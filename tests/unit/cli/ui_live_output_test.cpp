#include <gtest/gtest.h>

#include "model/limits.hpp"
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

TEST(LiveOutput, ALineWithoutAnEndTakesNoMemoryAndHidesNothingBehindIt) {
  LiveOutput output(5, "");
  const std::string piece(64UL * 1024, 'x');
  std::string told;
  for (std::size_t read = 0; read < 4 * limits::kOutputLineBytes; read += piece.size())
    told += output.take(piece, true);
  EXPECT_EQ(told, "# a line of output was too long to be read: " + std::string(200, 'x') + "\n") << "once";
  EXPECT_EQ(output.take("its end\nnext\n", true), "next\n");
  EXPECT_EQ(output.take("and on\n", true), "and on\n");
}

TEST(LiveOutput, NothingInItActs) {
  LiveOutput output(5, "");
  EXPECT_EQ(output.take("\x1b[2J\xe2\x80\xae\n", false), "<U+001B>[2J<U+202E>\n");
}

}  // namespace
}  // namespace coffer::cli::ui
