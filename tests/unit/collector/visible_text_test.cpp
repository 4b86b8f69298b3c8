#include "model/visible_text.hpp"

#include <gtest/gtest.h>

#include "mutate.hpp"

namespace coffer::model {
namespace {

TEST(VisibleText, LeavesWhatCanBeSeenAlone) {
  const std::string text = "caf\u00e9 \u4e2d\u6587 \u05e9\u05dc\u05d5\u05dd \U0001f600 \u2713\ufe0f\n\ttab\n";
  EXPECT_EQ(visibleText(text), text);
}

TEST(VisibleText, ShowsWhatATerminalWouldObey) {
  EXPECT_EQ(visibleText("\x1b[2J\x07"), "<U+001B>[2J<U+0007>");
  EXPECT_EQ(visibleText("a\rb\r\nc"), "a<U+000D>b\nc");
  EXPECT_EQ(visibleText(std::string_view("\0\x7f\xc2\x9b", 4)), "<U+0000><U+007F><U+009B>");
}

TEST(VisibleText, ShowsWhatTurnsOrHidesText) {
  EXPECT_EQ(visibleText("a\u202eb\u2066c"), "a<U+202E>b<U+2066>c");
  EXPECT_EQ(visibleText("a\u200bb\ufeff\u00ad\u3164"), "a<U+200B>b<U+FEFF><U+00AD><U+3164>");
  EXPECT_EQ(visibleText("\U000e0041\U0001ffff"), "<U+E0041><U+1FFFF>");
}

TEST(VisibleText, ShowsARunOfSelectorsButNotTheOneOfAnEmoji) {
  EXPECT_EQ(visibleText("\u2713\ufe0f\ufe0f\ufe00"), "\u2713\ufe0f<U+FE0F><U+FE00>");
  EXPECT_EQ(visibleText("\ufe0f"), "<U+FE0F>");
}

TEST(VisibleText, ShowsBytesThatAreNoText) {
  EXPECT_EQ(visibleText("\xff\xc3"), "<0xFF><0xC3>");
  EXPECT_EQ(visibleText("\xc0\xaf\xed\xa0\x80\xf4\x90\x80\x80"),
            "<0xC0><0xAF><0xED><0xA0><0x80><0xF4><0x90><0x80><0x80>");
}

TEST(VisibleText, NothingThatActsIsLeftWhateverComesIn) {
  collector::Mutations mutations(3);
  for (int i = 0; i < 1000; ++i) {
    const auto text = visibleText(mutations.of("caf\u00e9 \u202e \x1b[1m \u200b\u2713\ufe0f \xff end\r\n"));
    EXPECT_EQ(visibleText(text), text) << "what is visible stays as it is";
    for (const char c : text)
      EXPECT_TRUE(static_cast<unsigned char>(c) >= 0x20 || c == '\n' || c == '\t');
  }
}

}  // namespace
}  // namespace coffer::model
