#include "engine/shown_end.hpp"

#include <gtest/gtest.h>

namespace coffer::engine {
namespace {

TEST(ShownEnd, IsAllOfWhatFits) {
  ShownEnd log(1000);
  log.add("one\n");
  log.add("two\n");
  EXPECT_EQ(log.text(), "one\ntwo\n");
}

TEST(ShownEnd, CutsAtTheFrontAndSaysHowMuch) {
  constexpr std::size_t kLimit = 1000;
  ShownEnd log(kLimit);
  std::size_t bytes = 0;
  for (int i = 0; i < 500; ++i) {
    const auto line = "line " + std::to_string(i) + "\n";
    log.add(line);
    bytes += line.size();
    EXPECT_LE(log.text().size(), kLimit);
  }
  const auto text = log.text();
  const auto rest = text.substr(text.find('\n') + 1);
  EXPECT_TRUE(text.starts_with("[" + std::to_string(bytes - rest.size()) + " bytes before this are left out]\nline "));
  EXPECT_TRUE(text.ends_with("line 499\n"));
}

TEST(ShownEnd, HasAnEndOfWhatHasNoLines) {
  ShownEnd log(1000);
  log.add(std::string(5000, 'x'));
  EXPECT_LE(log.text().size(), 1000U);
  EXPECT_GT(log.text().size(), 900U);
}

}  // namespace
}  // namespace coffer::engine
