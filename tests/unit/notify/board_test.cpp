#include "notify/board.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "notify/limits.hpp"

namespace coffer::notify {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TaskNews waits(std::uint64_t task, const std::string& words = "plan to read") {
  Bubble bubble;
  bubble.summary = words;
  bubble.body = "title";
  return {.id = task, .ended = false, .bubble = bubble};
}

TaskNews goesOn(std::uint64_t task) { return {.id = task, .ended = false, .bubble = std::nullopt}; }

TaskNews failed(std::uint64_t task) {
  auto news = waits(task, "failed");
  news.ended = true;
  return news;
}

class BoardTest : public testing::Test {
 protected:
  /// Carries out what the board wants as a server does that numbers its bubbles; the summaries shown.
  std::vector<std::string> shown() {
    auto orders = board.orders(now);
    wake = orders.wake;
    closed = orders.close;
    std::vector<std::string> summaries;
    for (const auto& show : orders.show) {
      summaries.push_back(show.bubble.summary);
      bodies.push_back(show.bubble.body);
      replaced.push_back(show.replaces);
      board.shown(show.task, show.replaces != 0 ? show.replaces : ++number);
    }
    return summaries;
  }

  Board board;
  std::uint64_t now = 1'000'000'000;
  std::uint32_t number = 100;
  std::optional<std::uint64_t> wake;
  std::vector<std::uint32_t> closed;
  std::vector<std::uint32_t> replaced;
  std::vector<std::string> bodies;
};

TEST_F(BoardTest, EachStateThatWaitsIsShownOnceInTheSameBubble) {
  board.serverCame();
  board.learn(waits(1));
  EXPECT_THAT(shown(), ElementsAre("plan to read"));
  board.learn(waits(1));
  EXPECT_THAT(shown(), IsEmpty()) << "nothing of what is shown changed";
  board.learn(waits(1, "asks"));
  EXPECT_THAT(shown(), ElementsAre("asks"));
  EXPECT_THAT(replaced, ElementsAre(0, 101));
  EXPECT_EQ(board.taskOf(101), 1U);
}

TEST_F(BoardTest, ABubbleIsClosedWhenItsTaskDoesNotWait) {
  board.serverCame();
  board.learn(waits(1));
  shown();
  board.learn(goesOn(1));
  EXPECT_THAT(shown(), IsEmpty());
  EXPECT_THAT(closed, ElementsAre(101));
  board.learn(waits(1));
  EXPECT_THAT(shown(), ElementsAre("plan to read")) << "it waits anew";
  board.forget(1);
  shown();
  EXPECT_THAT(closed, ElementsAre(102));
  EXPECT_EQ(board.taskOf(102), std::nullopt);
}

TEST_F(BoardTest, ATaskThatMovesOnWhileItsBubbleIsSentIsClosedAfterwards) {
  board.serverCame();
  board.learn(waits(1));
  const auto orders = board.orders(now);
  ASSERT_EQ(orders.show.size(), 1U);
  board.learn(goesOn(1));
  EXPECT_THAT(board.orders(now).close, IsEmpty()) << "its number is not known yet";
  board.shown(1, 7);
  EXPECT_THAT(board.orders(now).close, ElementsAre(7));
}

TEST_F(BoardTest, WhatThePersonClosedStaysClosedUntilTheTaskChanges) {
  board.serverCame();
  board.learn(waits(1));
  shown();
  board.closed(101);
  board.learn(waits(1));
  EXPECT_THAT(shown(), IsEmpty());
  board.learn(waits(1, "asks"));
  EXPECT_THAT(shown(), ElementsAre("asks"));
  EXPECT_EQ(replaced.back(), 0U) << "there is nothing to replace";
}

TEST_F(BoardTest, AnotherServerIsShownWhatTheLastOneShowedOnceAndNothingElse) {
  board.serverCame();
  board.learn(waits(1, "one"));
  board.learn(waits(2, "two"));
  EXPECT_THAT(shown(), ElementsAre("one", "two"));
  board.closed(102);
  board.serverLeft();
  EXPECT_THAT(shown(), IsEmpty());
  EXPECT_TRUE(board.wantsServer());
  EXPECT_EQ(board.taskOf(101), std::nullopt) << "numbers of a server that left mean nothing";
  board.serverCame();
  EXPECT_THAT(shown(), ElementsAre("one"));
  EXPECT_THAT(shown(), IsEmpty());
  EXPECT_EQ(replaced.back(), 0U);
}

TEST_F(BoardTest, NothingIsShownBeforeTheServerSaidWhatItCan) {
  board.learn(waits(1));
  EXPECT_THAT(shown(), IsEmpty());
  EXPECT_TRUE(board.wantsServer());
  board.serverCame();
  EXPECT_THAT(shown(), ElementsAre("plan to read"));
}

TEST_F(BoardTest, LaterIsQuietUntilTheTaskChangesOrTheTimeIsOver) {
  board.serverCame();
  board.learn(waits(1));
  shown();
  board.putOff(1, now);
  EXPECT_THAT(shown(), IsEmpty());
  EXPECT_THAT(closed, ElementsAre(101));
  board.closed(101);
  EXPECT_EQ(wake, now + limits::kNotificationLater) << "woken once, not asked again and again";
  now += limits::kNotificationLater - 1;
  EXPECT_THAT(shown(), IsEmpty());
  ++now;
  EXPECT_THAT(shown(), ElementsAre("plan to read"));
  EXPECT_EQ(wake, std::nullopt);
  board.putOff(1, now);
  shown();
  board.learn(waits(1, "asks"));
  EXPECT_THAT(shown(), ElementsAre("asks"));
}

TEST_F(BoardTest, LaterOutlivesAServer) {
  board.serverCame();
  board.learn(waits(1));
  shown();
  board.putOff(1, now);
  shown();
  board.serverLeft();
  board.serverCame();
  EXPECT_THAT(shown(), IsEmpty());
}

TEST_F(BoardTest, BubblesAreLimitedAndWhatIsShownLateIsWhatIsTrueThen) {
  board.serverCame();
  for (std::uint64_t task = 1; task <= limits::kNotificationBurst + 2; ++task)
    board.learn(waits(task));
  EXPECT_EQ(shown().size(), limits::kNotificationBurst);
  EXPECT_EQ(wake, now + limits::kNotificationTime);
  EXPECT_THAT(shown(), IsEmpty());
  board.learn(waits(limits::kNotificationBurst + 1, "asks"));
  board.learn(goesOn(limits::kNotificationBurst + 2));
  now += limits::kNotificationTime;
  EXPECT_THAT(shown(), ElementsAre("asks"));
  EXPECT_EQ(wake, std::nullopt);
}

TEST_F(BoardTest, ATaskThatChangesAllTheTimeDoesNotKeepOthersWaiting) {
  board.serverCame();
  for (std::uint64_t i = 0; i < limits::kNotificationBurst; ++i) {
    board.learn(waits(1, std::to_string(i)));
    shown();
  }
  board.learn(waits(2, "patient"));
  board.learn(waits(1, "loud"));
  now += limits::kNotificationTime;
  EXPECT_THAT(shown(), ElementsAre("patient"));
}

TEST_F(BoardTest, TheRateIsTheSameAfterALongRest) {
  board.serverCame();
  for (std::uint64_t task = 1; task <= 100; ++task)
    board.learn(waits(task));
  EXPECT_EQ(shown().size(), limits::kNotificationBurst);
  now += 50 * limits::kNotificationTime;
  EXPECT_EQ(shown().size(), limits::kNotificationBurst);
}

TEST_F(BoardTest, AFailureIsToldOfATaskThatWasSeenAlive) {
  board.serverCame();
  board.learn(failed(1));
  EXPECT_THAT(shown(), IsEmpty()) << "an old failure is no news";
  board.learn(goesOn(2));
  board.learn(failed(2));
  EXPECT_THAT(shown(), ElementsAre("failed"));
  board.closed(101);
  board.learn(failed(2));
  EXPECT_THAT(shown(), IsEmpty()) << "its clean-up is no news";
}

TEST_F(BoardTest, OtherButtonsComeToWhatIsShownAndNotToWhatWasClosed) {
  board.serverCame();
  for (const std::uint64_t task : {1UL, 2UL}) {
    board.learn(goesOn(task));
    board.learn(failed(task));
  }
  EXPECT_EQ(shown().size(), 2U);
  board.closed(102);
  for (const std::uint64_t task : {1UL, 2UL}) {
    auto news = failed(task);
    news.bubble->buttons.push_back(Button::Retry);
    board.learn(news);
  }
  EXPECT_THAT(shown(), ElementsAre("failed"));
  EXPECT_EQ(replaced.back(), 101U);
}

TEST_F(BoardTest, AfterCofferdCameAgainOnlyWhatChangedIsShown) {
  board.serverCame();
  for (std::uint64_t task = 1; task <= 3; ++task)
    board.learn(waits(task));
  board.learn(goesOn(4));
  shown();
  board.learnAll({waits(1), waits(2, "asks"), waits(5, "new")}, {failed(4), failed(9)});
  EXPECT_THAT(shown(), ElementsAre("asks", "new", "failed"));
  EXPECT_THAT(closed, ElementsAre(103)) << "what is over waits no more";
}

TEST_F(BoardTest, WhatWasTriedFromABubbleIsSaidInIt) {
  board.serverCame();
  board.learn(waits(1));
  shown();
  board.closed(101);
  board.say(1, "Type: coffer show 1");
  EXPECT_THAT(shown(), ElementsAre("plan to read"));
  EXPECT_EQ(bodies.back(), "title\nType: coffer show 1");
  board.closed(102);
  board.say(1, "Type: coffer show 1");
  EXPECT_EQ(shown().size(), 1U) << "also a second time";
  board.learn(waits(1, "asks"));
  shown();
  EXPECT_EQ(bodies.back(), "title");
}

}  // namespace
}  // namespace coffer::notify
