#include "engine/name_service.hpp"

#include <future>
#include <optional>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace coffer::engine {
namespace {

using Answer = std::optional<std::expected<int, Error>>;

class NameServiceTest : public testing::Test {
 protected:
  void SetUp() override { sd_event_new(&event_); }
  void TearDown() override { sd_event_unref(event_); }

  static Detached ask(NameService& names, std::function<int()> question, Answer& answer) {
    answer = co_await names.ask(std::move(question));
  }
  void until(const Answer& answer) {
    while (!answer && sd_event_run(event_, 5'000'000) > 0) {
    }
  }

  sd_event* event_ = nullptr;
};

TEST_F(NameServiceTest, AsksBesideTheLoopAndAnswersOnIt) {
  NameService names(event_);
  std::promise<void> told;
  std::thread::id where;
  Answer slow, quick;
  ask(
      names,
      [&where, let = told.get_future().share()] {
        where = std::this_thread::get_id();
        let.wait();
        return 7;
      },
      slow);
  ask(names, [] { return 8; }, quick);
  // The loop goes on while a directory does not answer.
  bool ticked = false;
  const auto tick = os::EventSource::timer(event_, 1000, [&] { ticked = true; }, 0);
  while (!ticked && sd_event_run(event_, 5'000'000) > 0) {
  }
  EXPECT_TRUE(ticked);
  EXPECT_FALSE(slow || quick);
  told.set_value();
  until(slow);
  until(quick);
  ASSERT_TRUE(slow && *slow && quick && *quick);
  EXPECT_EQ(**slow, 7);
  EXPECT_EQ(**quick, 8);
  EXPECT_NE(where, std::this_thread::get_id());
}

TEST_F(NameServiceTest, GivesUpWhatIsNotAnsweredInTime) {
  std::promise<void> told;
  Answer answer;
  {
    NameService names(event_, std::chrono::milliseconds(5));
    ask(names, [let = told.get_future().share()] { return let.wait(), 7; }, answer);
    until(answer);
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->error().code, ErrorCode::Environment);
    EXPECT_NE(answer->error().message.find("nsswitch"), std::string::npos);
  }
  told.set_value();  // nobody is there for it any more
}

TEST_F(NameServiceTest, TakesSoManyQuestions) {
  NameService names(event_);
  std::promise<void> begun, told;
  Answer first, refused;
  ask(names, [&begun, let = told.get_future().share()] { return begun.set_value(), let.wait(), 7; }, first);
  begun.get_future().wait();
  std::vector<Answer> waiting(limits::kAccountQuestions);
  for (auto& each : waiting)
    ask(names, [] { return 8; }, each);
  ask(names, [] { return 9; }, refused);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->error().code, ErrorCode::Busy);
  told.set_value();
  until(first);
  for (const auto& each : waiting)
    until(each);
  EXPECT_EQ(**waiting.back(), 8);
}

}  // namespace
}  // namespace coffer::engine
