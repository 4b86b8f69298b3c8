#include <algorithm>

#include <gtest/gtest.h>

#include "ui/model.hpp"

namespace coffer::cli::ui {
namespace {

const std::string kPlanDigest = "sha256:" + std::string(64, 'a');
const std::string kWorkDigest = "sha256:" + std::string(64, 'b');

Dictionary task(std::uint64_t id, const std::string& state, std::vector<std::string> actions = {"cancel"},
                const std::string& parked = "", std::uint64_t until = 0) {
  return {{"Id", sdbus::Variant(id)},
          {"ProjectName", sdbus::Variant(std::string("zlib"))},
          {"Title", sdbus::Variant(std::string("Fix number ") + std::to_string(id))},
          {"State", sdbus::Variant(state)},
          {"Parked", sdbus::Variant(parked)},
          {"Waiting", sdbus::Variant(WaitingFor{"", "", until})},
          {"Actions", sdbus::Variant(std::move(actions))}};
}

Dictionary planTask(std::uint64_t id) {
  auto values = task(id, "plan-ready", {"accept-plan", "reply", "cancel"});
  values["PlanDigest"] = sdbus::Variant(kPlanDigest);
  return values;
}

Dictionary workTask(std::uint64_t id) {
  auto values = task(id, "ready", {"accept-work", "reply", "cancel"});
  values["PlanDigest"] = sdbus::Variant(kPlanDigest);
  values["WorkDigest"] = sdbus::Variant(kWorkDigest);
  values["Candidate"] = sdbus::Variant(std::string(40, 'c'));
  values["BaseBranch"] = sdbus::Variant(std::string("main"));
  return values;
}

std::string textOf(const StyledLine& line) {
  std::string text;
  for (const auto& cell : line)
    text += cell.text;
  return text;
}

class ModelTest : public testing::Test {
 protected:
  ModelTest() { model.resize(80, 24); }

  void serve(const std::vector<Dictionary>& tasks) {
    TasksUpdate update;
    for (const auto& each : tasks)
      update.tasks.emplace_back(each);
    model.apply(update);
    current = tasks;
    answer();
  }

  /// What the bus's thread would say to the model's focus.
  void answer() {
    for (const auto& each : current)
      if (numberOf(each, "Id") == model.focus().task)
        model.apply(TaskUpdate{numberOf(each, "Id"), each, runs, findings});
  }

  void read(const std::string& text, const std::string& digest, bool last = true, bool cut = false) {
    model.apply(TextUpdate{model.focus(), true, last, cut, text, digest, {}});
  }

  void press(std::initializer_list<const char*> keys) {
    for (const auto* key : keys) {
      model.press(key);
      answer();
    }
  }

  [[nodiscard]] std::vector<std::string> keys() const {
    std::vector<std::string> result;
    for (const auto& hint : model.hints())
      result.push_back(hint.key);
    return result;
  }

  [[nodiscard]] bool offers(const std::string& key) const { return std::ranges::contains(keys(), key); }
  [[nodiscard]] std::string status() const { return textOf(model.status()); }

  std::vector<std::string> screen() {
    std::vector<std::string> lines;
    for (const auto& line : model.body())
      lines.push_back(textOf(line));
    return lines;
  }

  std::string panel() {
    std::string text;
    for (const auto& line : model.panel())
      text += textOf(line) + "\n";
    return text;
  }

  std::vector<Act> acts() {
    std::vector<Act> result;
    for (auto& order : model.takeOrders())
      if (auto* act = std::get_if<Act>(&order)) result.push_back(*act);
    return result;
  }

  Model model{"coffer"};
  std::vector<Dictionary> current;
  std::vector<Dictionary> runs;
  std::vector<Dictionary> findings;
};

TEST_F(ModelTest, GroupsTasksByWhoseTurnItIs) {
  serve({task(20, "writing"), task(19, "writing", {"cancel"}, "retry", 5), task(18, "done", {"delete"}), planTask(17),
         task(16, "writing", {"reply", "cancel"}, "question")});
  const auto lines = screen();
  EXPECT_EQ(lines[0], "Waiting for you (2)");
  EXPECT_TRUE(lines[1].contains("17")) << lines[1];
  EXPECT_TRUE(lines[2].contains("asks you something")) << lines[2];
  EXPECT_EQ(lines[3], "Working (1)");
  EXPECT_EQ(lines[5], "Parked (1)");
  EXPECT_EQ(lines[7], "Done (1)");
  EXPECT_TRUE(lines[8].contains("Fix number 18")) << lines[8];
  for (const auto& line : lines)
    EXPECT_LE(displayWidth(line), 80U);
  EXPECT_EQ(textOf(model.title()), " Cofferdam   2 wait for you, 1 working, 1 parked");
}

TEST_F(ModelTest, WhatIsSelectedStaysSelectedInWhateverGroupItIs) {
  serve({planTask(17), task(18, "writing")});
  press({"Down"});
  EXPECT_EQ(model.focus().task, 18U);
  serve({planTask(17), planTask(18), task(19, "queued")});
  EXPECT_EQ(model.focus().task, 18U);
  press({"End"});
  EXPECT_EQ(model.focus().task, 19U);
  serve({planTask(17)});
  EXPECT_EQ(model.focus().task, 17U);
}

TEST_F(ModelTest, FiltersByWhatIsTyped) {
  serve({planTask(17), task(18, "writing"), task(19, "done")});
  press({"/"});
  EXPECT_EQ(model.mode(), Mode::Filter);
  model.input() = "NUMBER 18";
  model.typed();
  answer();
  EXPECT_EQ(screen()[0], "Working (1)");
  EXPECT_EQ(model.focus().task, 18U);
  press({"Enter"});
  EXPECT_EQ(screen()[0], "Working (1)");
  EXPECT_TRUE(textOf(model.title()).contains("only: NUMBER 18"));
  press({"Esc"});
  EXPECT_EQ(screen()[0], "Waiting for you (1)");
  EXPECT_TRUE(model.takeOrders().empty());
}

TEST_F(ModelTest, KeysAreOfferedOnlyWhereTheyAct) {
  serve({task(17, "writing")});
  EXPECT_EQ(keys(), (std::vector<std::string>{"Enter", "c", "/", "?", "q"}));
  serve({task(17, "done", {"delete"})});
  EXPECT_EQ(keys(), (std::vector<std::string>{"Enter", "x", "/", "?", "q"}));
  serve({planTask(17)});
  EXPECT_EQ(keys(), (std::vector<std::string>{"Enter", "p", "r", "e", "c", "/", "?", "q"}));
  serve({workTask(17)});
  EXPECT_EQ(keys(), (std::vector<std::string>{"Enter", "p", "d", "r", "e", "c", "/", "?", "q"}));
  serve({});
  EXPECT_EQ(keys(), (std::vector<std::string>{"?", "q"}));
}

TEST_F(ModelTest, AKeyThatIsNotAllowedSaysSoAndDoesNothing) {
  serve({task(17, "writing")});
  for (const auto* key : {"a", "b", "r", "e", "x"}) {
    press({key});
    EXPECT_TRUE(status().contains("not possible here: writing")) << key << ": " << status();
    EXPECT_EQ(model.mode(), Mode::Browse) << key;
  }
  press({"p"});
  EXPECT_EQ(status(), "There is no plan yet.");
  EXPECT_TRUE(model.takeOrders().empty());
}

TEST_F(ModelTest, APlanIsAcceptedOnlyAfterItWasOpenedAndOnlyByItsDigest) {
  serve({planTask(17)});
  EXPECT_FALSE(offers("a"));
  press({"a", "y"});
  EXPECT_TRUE(acts().empty());
  press({"a"});
  EXPECT_EQ(status(), "Read the plan first: p");

  press({"p"});
  EXPECT_EQ(model.focus().page, Page::Plan);
  read("# Plan\n", kPlanDigest, false);
  EXPECT_FALSE(offers("a")) << "only a part of it has come";
  read("# Plan\nDo it.\n", kPlanDigest);
  EXPECT_TRUE(offers("a"));
  const auto orders = model.takeOrders();
  ASSERT_EQ(orders.size(), 1U);
  EXPECT_EQ(std::get<Remember>(orders[0]).digest, kPlanDigest);

  press({"a"});
  EXPECT_EQ(model.mode(), Mode::Confirm);
  EXPECT_TRUE(panel().contains(kPlanDigest)) << panel();
  EXPECT_EQ(keys(), (std::vector<std::string>{"y", "n"}));
  press({"Enter", "a", " "});
  EXPECT_TRUE(acts().empty()) << "only y is a yes";
  press({"y"});
  const auto decided = acts();
  ASSERT_EQ(decided.size(), 1U);
  EXPECT_EQ(decided[0].action, "accept-plan");
  EXPECT_EQ(decided[0].task, 17U);
  EXPECT_EQ(decided[0].digest, kPlanDigest);
  press({"y"});
  EXPECT_TRUE(acts().empty());
}

TEST_F(ModelTest, ANoDecidesNothing) {
  serve({planTask(17)});
  press({"p"});
  read("# Plan\n", kPlanDigest);
  for (const auto* no : {"n", "Esc", "q"}) {
    press({"a", no});
    EXPECT_EQ(model.mode(), Mode::Browse);
    EXPECT_TRUE(acts().empty());
    EXPECT_EQ(model.page(), Page::Plan);
  }
}

TEST_F(ModelTest, AnotherPlanTakesTheQuestionBack) {
  serve({planTask(17)});
  press({"p"});
  read("# Plan\n", kPlanDigest);
  press({"a"});
  auto other = planTask(17);
  other["PlanDigest"] = sdbus::Variant("sha256:" + std::string(64, 'd'));
  model.apply(TaskUpdate{17, other, {}, {}});
  EXPECT_EQ(model.mode(), Mode::Browse);
  EXPECT_EQ(status(), "It is another plan by now.");
  EXPECT_FALSE(offers("a"));
  model.press("y");
  EXPECT_TRUE(acts().empty());
}

TEST_F(ModelTest, WhatIsCutCannotBeAccepted) {
  serve({workTask(17)});
  press({"d"});
  read("diff --git a/x b/x\n", kWorkDigest, true, true);
  EXPECT_FALSE(offers("a"));
  EXPECT_TRUE(status().contains("more than what is shown")) << status();
}

TEST_F(ModelTest, WorkIsAcceptedOntoItsBranchOrAnother) {
  serve({workTask(17)});
  press({"d"});
  read("diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1,2 @@\n-a\n+b\n+c\n", kWorkDigest);
  press({"a"});
  EXPECT_TRUE(panel().contains("1 file, +2 -1")) << panel();
  EXPECT_TRUE(panel().contains("landed on main in")) << panel();
  EXPECT_TRUE(panel().contains(kWorkDigest)) << panel();
  press({"n", "b"});
  EXPECT_EQ(model.mode(), Mode::Branch);
  model.input() = "try-it";
  press({"Enter"});
  EXPECT_TRUE(panel().contains("landed on try-it, made if need be,")) << panel();
  press({"y"});
  const auto decided = acts();
  ASSERT_EQ(decided.size(), 1U);
  EXPECT_EQ(decided[0].action, "accept-work");
  EXPECT_EQ(decided[0].digest, kWorkDigest);
  EXPECT_EQ(decided[0].text, "try-it");
}

TEST_F(ModelTest, AReplyIsSentByCtrlDAndKeptWhenItIsNot) {
  serve({task(17, "writing", {"reply", "cancel"}, "question")});
  press({"r", "CtrlD"});
  EXPECT_EQ(status(), "The reply is empty.");
  model.input() = "Both\nof them";
  press({"Esc"});
  EXPECT_TRUE(acts().empty());
  press({"r"});
  EXPECT_EQ(model.input(), "Both\nof them");
  press({"CtrlD"});
  const auto decided = acts();
  ASSERT_EQ(decided.size(), 1U);
  EXPECT_EQ(decided[0].action, "reply");
  EXPECT_EQ(decided[0].text, "Both\nof them");
  model.begin(decided[0]);
  model.apply(OutcomeUpdate{decided[0], {}});
  press({"r"});
  EXPECT_EQ(model.input(), "");
}

TEST_F(ModelTest, ARefusedReplyIsNotLost) {
  serve({task(17, "writing", {"reply", "cancel"}, "question")});
  press({"r"});
  model.input() = "Both";
  press({"CtrlD"});
  const auto act = acts().at(0);
  model.begin(act);
  model.apply(OutcomeUpdate{act, Failure{ExitCode::Stale, "WrongState", "It asks nothing.", "coffer show 17"}});
  EXPECT_EQ(panel(), "It asks nothing.\nnext: coffer show 17\n");
  press({"r"});
  EXPECT_EQ(model.input(), "Both");
}

TEST_F(ModelTest, ARefusalIsShownWholeUntilTheNextKey) {
  serve({task(17, "writing")});
  const auto height = model.bodyHeight();
  const std::string cure = "commit or stash them and accept again.";
  const auto refuse = [&](std::string message) {
    model.apply(OutcomeUpdate{{"accept-work", 17, {}, {}},
                              Failure{ExitCode::Failed, "Dirty", std::move(message), "coffer show 17"}});
  };
  refuse("Paths of yours are changed and in the way: one.c, two.c, three.c, four.c, five.c, six.c, seven.c; " + cure);
  auto shown = panel();
  std::ranges::replace(shown, '\n', ' ');
  EXPECT_TRUE(shown.contains(cure)) << shown;
  EXPECT_TRUE(shown.ends_with("next: coffer show 17 ")) << shown;
  for (const auto& line : model.panel())
    EXPECT_LE(displayWidth(textOf(line)), 80U);
  EXPECT_EQ(model.bodyHeight() + model.panel().size(), height);
  press({"j"});
  EXPECT_EQ(panel(), "");
  // However long, there is a screen above it and the command below.
  refuse(std::string(5000, 'x') + "\x1b[2J");
  EXPECT_EQ(model.panel().size(), 12U);
  EXPECT_TRUE(panel().ends_with("…\nnext: coffer show 17\n")) << panel();
  refuse("\x1b[2J");
  EXPECT_TRUE(panel().starts_with("<U+001B>[2J")) << panel();
}

TEST_F(ModelTest, CancelAndDeleteAsk) {
  serve({task(17, "writing")});
  press({"c"});
  EXPECT_TRUE(panel().contains("Cancel task 17 zlib: Fix number 17?")) << panel();
  EXPECT_TRUE(acts().empty());
  press({"y"});
  EXPECT_EQ(acts().at(0).action, "cancel");
  serve({task(17, "cancelled", {"delete"})});
  press({"x", "y"});
  EXPECT_EQ(acts().at(0).action, "delete");
}

TEST_F(ModelTest, WhatStandsStillIsTriedAgainAfterAQuestion) {
  serve({task(17, "writing", {"reply", "retry", "cancel"}, "blocked")});
  EXPECT_TRUE(offers("t"));
  press({"t"});
  EXPECT_TRUE(panel().contains("Go on with task 17")) << panel();
  press({"y"});
  EXPECT_EQ(acts().at(0).action, "retry");
}

TEST_F(ModelTest, WhatIsOutOfBudgetIsNotTriedAgainInVain) {
  serve({task(17, "writing", {"retry", "cancel"}, "budget")});
  EXPECT_FALSE(offers("t"));
  press({"t"});
  EXPECT_EQ(model.mode(), Mode::Browse);
  EXPECT_TRUE(status().contains("coffer retry 17 --budget TOKENS")) << status();
  EXPECT_TRUE(acts().empty());
}

TEST_F(ModelTest, OneDecisionAfterTheOther) {
  serve({task(17, "writing")});
  press({"c", "y"});
  model.begin(acts().at(0));
  EXPECT_EQ(status(), "Cancelling ...");
  press({"c"});
  EXPECT_EQ(model.mode(), Mode::Browse);
  model.apply(OutcomeUpdate{Act{"cancel", 17, {}, {}}, {}});
  EXPECT_EQ(status(), "Cancelled, task 17.");
}

TEST_F(ModelTest, NothingIsDecidedWhileTheServiceIsAway) {
  serve({task(17, "writing")});
  EXPECT_TRUE(model.apply(ServiceUpdate{false, "Waiting for cofferd ..."}));
  EXPECT_FALSE(model.apply(ServiceUpdate{false, "Waiting for cofferd ..."})) << "nothing to draw";
  EXPECT_EQ(status(), "Waiting for cofferd ...");
  press({"c", "y"});
  EXPECT_TRUE(acts().empty());
  model.apply(ServiceUpdate{true, {}});
  press({"c", "y"});
  EXPECT_EQ(acts().size(), 1U);
}

TEST_F(ModelTest, ScrollsAndStaysInTheText) {
  serve({planTask(17)});
  press({"p"});
  std::string text;
  for (int i = 1; i <= 100; ++i)
    text += "line " + std::to_string(i) + "\n";
  read(text, kPlanDigest);
  const auto height = model.bodyHeight();
  EXPECT_EQ(screen().front(), "line 1");
  EXPECT_EQ(screen().size(), height);
  press({"Down", "j"});
  EXPECT_EQ(screen().front(), "line 3");
  press({"End"});
  EXPECT_EQ(screen().back(), "line 100");
  press({"PageDown", "Down"});
  EXPECT_EQ(screen().back(), "line 100");
  press({"Home", "Up"});
  EXPECT_EQ(screen().front(), "line 1");
  press({"PageDown"});
  EXPECT_EQ(screen().front(), "line " + std::to_string(height));
  press({"End"});
  model.resize(80, 60);
  EXPECT_EQ(screen().back(), "line 100");
  model.resize(40, 10);
  EXPECT_EQ(screen().size(), model.bodyHeight());
}

TEST_F(ModelTest, FollowsATranscriptUntilOneScrollsUp) {
  runs = {{{"Id", sdbus::Variant(std::uint64_t{5})},
           {"Kind", sdbus::Variant(std::string("turn"))},
           {"Ended", sdbus::Variant(std::uint64_t{9})}}};
  serve({task(17, "writing")});
  press({"l"});
  ASSERT_EQ(model.page(), Page::Transcript);
  std::string text;
  for (int i = 1; i <= 50; ++i)
    text += "line " + std::to_string(i) + "\n";
  read(text, "sha256:1");
  EXPECT_EQ(screen().back(), "line 50");
  read(text + "line 51\n", "sha256:2");
  EXPECT_EQ(screen().back(), "line 51");
  press({"Up"});
  read(text + "line 51\nline 52\n", "sha256:3");
  EXPECT_EQ(screen().back(), "line 50");
  press({"End"});
  read(text + "line 51\nline 52\nline 53\n", "sha256:4");
  EXPECT_EQ(screen().back(), "line 53");
}

TEST_F(ModelTest, ATextOfAnotherPageIsNotShown) {
  serve({workTask(17)});
  press({"p"});
  const auto old = model.focus();
  press({"d"});
  EXPECT_FALSE(model.apply(TextUpdate{old, true, true, false, "the plan\n", kPlanDigest, {}}));
  for (const auto& line : screen())
    EXPECT_FALSE(line.contains("the plan"));
}

TEST_F(ModelTest, AnOpenTaskThatIsGoneLeadsBackToTheList) {
  serve({planTask(17), planTask(18)});
  press({"p"});
  serve({planTask(18)});
  EXPECT_EQ(model.page(), Page::List);
  EXPECT_EQ(model.focus().task, 18U);
}

TEST_F(ModelTest, EveryPageFitsASmallTerminal) {
  serve({workTask(17)});
  for (const auto& [width, height] : {std::pair{80U, 24U}, std::pair{40U, 12U}, std::pair{20U, 6U}, std::pair{1U, 1U}})
    for (const auto* key : {"i", "p", "d", "?"}) {
      model.resize(width, height);
      press({key});
      read("a longer line than forty columns would be able to hold\n", kWorkDigest);
      for (const auto& line : screen())
        EXPECT_LE(displayWidth(line), std::max(width, 2U)) << line;
      EXPECT_LE(screen().size(), model.bodyHeight());
      press({"q"});
    }
}

TEST_F(ModelTest, AClickSelectsAndAnotherOpens) {
  serve({planTask(17), planTask(18)});
  model.click(2);
  answer();
  EXPECT_EQ(model.focus().task, 18U);
  model.click(0);
  EXPECT_EQ(model.focus().task, 18U) << "a heading";
  model.click(2);
  EXPECT_EQ(model.page(), Page::Details);
}

TEST_F(ModelTest, LeavesFromTheListOnly) {
  serve({planTask(17)});
  press({"p", "q"});
  EXPECT_EQ(model.page(), Page::List);
  EXPECT_TRUE(model.takeOrders().empty());
  press({"q"});
  const auto orders = model.takeOrders();
  ASSERT_EQ(orders.size(), 1U);
  EXPECT_TRUE(std::holds_alternative<Leave>(orders[0]));
}

}  // namespace
}  // namespace coffer::cli::ui
