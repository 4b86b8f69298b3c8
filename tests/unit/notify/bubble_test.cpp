#include "notify/bubble.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "notify/limits.hpp"

namespace coffer::notify {
namespace {

using cli::Dictionary;
using cli::WaitingFor;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

Dictionary task(const std::string& state, const std::string& parked = "", std::vector<std::string> actions = {}) {
  return {{"Id", sdbus::Variant(std::uint64_t{17})},
          {"ProjectName", sdbus::Variant(std::string("zlib"))},
          {"Title", sdbus::Variant(std::string("Fix the overflow"))},
          {"State", sdbus::Variant(state)},
          {"Parked", sdbus::Variant(parked)},
          {"Actions", sdbus::Variant(std::move(actions))}};
}

Dictionary with(Dictionary values, const std::string& name, sdbus::Variant value) {
  values[name] = std::move(value);
  return values;
}

Dictionary waiting(Dictionary values, const std::string& code, const std::string& words, std::uint64_t until) {
  return with(std::move(values), "Waiting", sdbus::Variant(WaitingFor{code, words, until}));
}

Dictionary asking(const std::string& question) {
  return with(task("writing", "question", {"reply", "cancel"}), "Question", sdbus::Variant(question));
}

/// The bubble of a task that has one.
Bubble bubble(const Dictionary& values) {
  auto news = newsOf(values);
  EXPECT_TRUE(news.bubble.has_value());
  return news.bubble.value_or(Bubble{});
}

constexpr Capabilities kAll{.actions = true, .body = true, .markup = true};

TEST(Bubble, APlanWorkAndAQuestionWaitForThePersonUntilTheyAreDealtWith) {
  const auto plan = bubble(task("plan-ready", "", {"accept-plan", "reply", "cancel"}));
  EXPECT_EQ(plan.summary, "zlib 17: plan to read");
  EXPECT_EQ(plan.body, "Fix the overflow");
  const auto work = bubble(task("ready", "", {"accept-work", "reply", "cancel"}));
  EXPECT_EQ(work.summary, "zlib 17: work to review");
  const auto question = bubble(asking("Which of the two?"));
  EXPECT_EQ(question.summary, "zlib 17: asks you something");
  EXPECT_EQ(question.body, "Fix the overflow\nWhich of the two?");
  for (const auto& each : {plan, work, question}) {
    EXPECT_EQ(each.urgency, Urgency::Normal);
    EXPECT_TRUE(each.stays);
    EXPECT_THAT(each.buttons, ElementsAre(Button::Show, Button::Later));
    EXPECT_EQ(each.command, "coffer show 17");
  }
}

TEST(Bubble, AFailureSaysWhatWentWrong) {
  const auto values =
      with(task("failed", "", {"retry", "delete"}), "Problem",
           sdbus::Variant(sdbus::Struct<std::string, std::string>{"Sandbox", "No loop device is free."}));
  const auto failed = bubble(values);
  EXPECT_EQ(failed.summary, "zlib 17: failed");
  EXPECT_EQ(failed.body, "Fix the overflow\nNo loop device is free.");
  EXPECT_THAT(failed.buttons, ElementsAre(Button::Show, Button::Retry, Button::Later));
  EXPECT_TRUE(newsOf(values).ended);
}

TEST(Bubble, WhatStandsStillCanBeRetriedWhereThatIsAllowed) {
  const auto blocked =
      bubble(waiting(task("writing", "blocked", {"retry", "reply"}), "no-change", "It changed nothing.", 0));
  EXPECT_EQ(blocked.summary, "zlib 17: does not go on");
  EXPECT_EQ(blocked.body, "Fix the overflow\nIt changed nothing.");
  EXPECT_THAT(blocked.buttons, ElementsAre(Button::Show, Button::Retry, Button::Later));
  EXPECT_THAT(bubble(task("writing", "blocked", {"reply"})).buttons, ElementsAre(Button::Show, Button::Later));
}

TEST(Bubble, OutOfBudgetThereIsNothingToRetryWithoutALargerOne) {
  const auto out = bubble(waiting(task("writing", "budget", {"retry", "cancel"}), "budget", "It cost too much.", 0));
  EXPECT_THAT(out.buttons, ElementsAre(Button::Show, Button::Later));
}

TEST(Bubble, WhatPassesByItselfIsNothingToGetUpFor) {
  const auto passing =
      bubble(waiting(task("writing", "retry", {"retry"}), "rate-limited", "The provider is busy.", 5'000'000));
  EXPECT_THAT(passing.summary, HasSubstr("zlib 17: waits, and goes on at "));
  EXPECT_EQ(passing.urgency, Urgency::Low);
  EXPECT_FALSE(passing.stays);
  EXPECT_EQ(bubble(waiting(task("writing", "retry"), "auth-failed", "The key is refused.", 0)).urgency,
            Urgency::Normal);
}

TEST(Bubble, WhatGoesOnOrIsOverWaitsForNobody) {
  for (const auto* state :
       {"queued", "planning", "writing", "verifying", "reviewing", "landing", "landed", "done", "cancelled"})
    EXPECT_FALSE(newsOf(task(state, "", {"cancel"})).bubble) << state;
}

TEST(Bubble, NoButtonDecides) {
  // Everything that a task could ever allow, in every state that waits.
  const std::vector<std::string> all = {"accept-plan", "accept-work", "reply", "retry", "cancel", "delete"};
  for (const auto* state : {"plan-ready", "ready", "writing", "failed"})
    for (const auto* parked : {"", "question", "blocked", "risky", "command"}) {
      const auto news = newsOf(task(state, parked, all));
      if (!news.bubble) continue;
      const auto shown = shownBy(kAll, *news.bubble);
      for (std::size_t i = 0; i < shown.actions.size(); i += 2)
        EXPECT_THAT((std::vector<std::string>{"default", "show", "retry", "later"}),
                    testing::Contains(shown.actions[i]));
    }
  EXPECT_THAT(bubble(task("plan-ready", "", all)).buttons, ElementsAre(Button::Show, Button::Later))
      << "of a plan that waits, again is a decision";
}

TEST(Bubble, TextOfAnAgentIsNeitherMarkupNorControl) {
  const auto asked = bubble(asking("<b>Bold</b> &lt; <a href=\"x\">'link'</a>\x1b[31m\xe2\x80\xae rtl\r\x07"));
  EXPECT_THAT(asked.summary, Not(HasSubstr("Bold")));
  const auto rich = shownBy(kAll, asked).body;
  EXPECT_THAT(rich,
              HasSubstr("&lt;b&gt;Bold&lt;/b&gt; &amp;lt; &lt;a href=&quot;x&quot;&gt;&apos;link&apos;&lt;/a&gt;"));
  EXPECT_EQ(rich.find('<'), std::string::npos);
  EXPECT_THAT(rich, HasSubstr("&lt;U+001B&gt;[31m&lt;U+202E&gt; rtl&lt;U+000D&gt;&lt;U+0007&gt;"));
  const auto plain = shownBy({.actions = true, .body = true, .markup = false}, asked).body;
  EXPECT_THAT(plain, HasSubstr("<b>Bold</b> &lt; <a href=\"x\">'link'</a><U+001B>[31m<U+202E> rtl"));
  for (const char letter : plain)
    EXPECT_TRUE(static_cast<unsigned char>(letter) >= 0x20 || letter == '\n') << static_cast<int>(letter);
}

TEST(Bubble, TextOfOthersIsCutAndSaysSo) {
  const auto cut = bubble(asking(std::string(100'000, 'x'))).body;
  EXPECT_LT(cut.size(), 2 * limits::kNotificationBytes);
  EXPECT_TRUE(cut.ends_with("x…"));
  const auto lines = bubble(asking("1\n\n2\n3\n4\n5\n6\n7")).body;
  EXPECT_EQ(lines, "Fix the overflow\n1\n2\n3\n4\n5…");
  // A letter with marks without end, cut between two characters.
  std::string marks = "a";
  for (int i = 0; i < 1000; ++i)
    marks += "\xcc\x81";
  const auto marked = bubble(asking(marks)).body;
  EXPECT_LT(marked.size(), 2 * limits::kNotificationBytes);
  EXPECT_THAT(marked, Not(HasSubstr("<0x")));
  EXPECT_TRUE(marked.ends_with("\xcc\x81…"));
  EXPECT_EQ(bubble(asking("Which?")).body, "Fix the overflow\nWhich?");
  EXPECT_LT(bubble(asking(std::string(1000, '\x1b'))).body.size(), 2 * limits::kNotificationBytes)
      << "what is made visible grows";
}

TEST(Capabilities, AreTakenByTheirNames) {
  const auto some = Capabilities::of({"body", "actions", "x-vendor"});
  EXPECT_TRUE(some.body);
  EXPECT_TRUE(some.actions);
  EXPECT_FALSE(some.markup);
  EXPECT_FALSE(Capabilities::of({}).body);
}

TEST(Shown, AServerWithoutButtonsGetsTheCommand) {
  const auto plan = bubble(task("plan-ready", "", {"accept-plan"}));
  const auto shown = shownBy({.actions = false, .body = true, .markup = false}, plan);
  EXPECT_TRUE(shown.actions.empty());
  EXPECT_EQ(shown.body, "Fix the overflow\ncoffer show 17");
  const auto bare = shownBy({}, plan);
  EXPECT_EQ(bare.summary, "zlib 17: plan to read (coffer show 17)");
  EXPECT_TRUE(bare.body.empty());
}

TEST(Shown, AClickOnTheBubbleShows) {
  EXPECT_THAT(shownBy(kAll, bubble(task("plan-ready", "", {"accept-plan"}))).actions,
              ElementsAre("default", "Show", "show", "Show", "later", "Later"));
  EXPECT_EQ(buttonOf("default"), Button::Show);
  EXPECT_EQ(buttonOf("later"), Button::Later);
  EXPECT_EQ(buttonOf("accept-plan"), std::nullopt);
}

}  // namespace
}  // namespace coffer::notify
