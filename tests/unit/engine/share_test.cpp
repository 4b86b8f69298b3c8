#include "engine/share.hpp"

#include <optional>

#include <gtest/gtest.h>

namespace coffer::engine {
namespace {

Detached enter(Share& share, std::uint32_t user, std::optional<Share::Place>& place) {
  place.emplace(co_await share.enter(user));
}

TEST(Share, LetsEachUserDoSoManyThingsAndTheNextOnesWaitInOrder) {
  Share share(2);
  std::optional<Share::Place> first, second, third, fourth, anothers;
  enter(share, 1000, first);
  enter(share, 1000, second);
  enter(share, 1000, third);
  enter(share, 1000, fourth);
  enter(share, 1001, anothers);
  EXPECT_TRUE(first && second && anothers);
  EXPECT_FALSE(third || fourth);
  second.reset();
  EXPECT_TRUE(third);
  EXPECT_FALSE(fourth);
  first->release();
  first->release();
  EXPECT_TRUE(fourth);
  third.reset();
  fourth.reset();
  std::optional<Share::Place> fifth, sixth, seventh;
  enter(share, 1000, fifth);
  enter(share, 1000, sixth);
  enter(share, 1000, seventh);
  EXPECT_TRUE(fifth && sixth);
  EXPECT_FALSE(seventh) << "what was given back twice is one place";
  fifth.reset();
  EXPECT_TRUE(seventh);
}

}  // namespace
}  // namespace coffer::engine
