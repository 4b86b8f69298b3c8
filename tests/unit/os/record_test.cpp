#include "workers/record.hpp"

#include <gtest/gtest.h>

namespace coffer {
namespace {

TEST(Records, ComeBackAsTheyWereWrittenWhateverBytesTheyHold) {
  Records out;
  out.add("text", std::string_view("a\nb 3\n\0c", 8));
  out.add("count", 42);
  out.add("text", "");
  const auto in = Records::parse(out.serialize());
  ASSERT_TRUE(in) << in.error();
  EXPECT_EQ(in->get("text"), std::string_view("a\nb 3\n\0c", 8));
  EXPECT_EQ(in->number("count"), 42U);
  EXPECT_EQ(in->all("text").size(), 2U);
  EXPECT_FALSE(in->has("other"));
}

TEST(Records, RefuseWhatIsNotExactlyTheFormat) {
  for (const std::string_view text :
       {"text", "text 3", "text 3\nab", "text 3\nabc", "text 4\nabc\n", "text -1\n\n", "text 3x\nabc\n", "Text 1\na\n",
        " 1\na\n", "text  1\na\n", "text 99999999999999999999\na\n", "text 1\na\nrest"}) {
    EXPECT_FALSE(Records::parse(text)) << text;
  }
}

TEST(Records, NeverReadPastTheEndWhereverTheTextIsCut) {
  Records out;
  out.add("one", "first");
  out.add("two", "second\n");
  const auto whole = out.serialize();
  for (std::size_t size = 1; size < whole.size(); ++size) {
    const std::string cut = whole.substr(0, size);
    const auto in = Records::parse(cut);
    if (in) {
      EXPECT_EQ(in->list().size(), 1U) << "only a cut between two records is whole";
    }
  }
}

TEST(Records, NumberIsAWholeDecimalOrTheDefault) {
  Records records;
  records.add("a", "12");
  records.add("b", "12x");
  records.add("c", "");
  EXPECT_EQ(records.number("a", 7), 12U);
  EXPECT_EQ(records.number("b", 7), 7U);
  EXPECT_EQ(records.number("c", 7), 7U);
  EXPECT_EQ(records.number("d", 7), 7U);
}

}  // namespace
}  // namespace coffer
