#include "os/async.hpp"

#include <ctime>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include "os/event.hpp"

namespace coffer {
namespace {

Async<int> value(int number) { co_return number; }

Async<int> failing() {
  throw std::runtime_error("no");
  co_return 0;
}

Async<int> sum(Completion<int> later) {
  const int first = co_await value(1);
  co_return first + co_await later;
}

Detached store(Async<int> source, int& into, std::string& error) {
  try {
    into = co_await std::move(source);
  } catch (const std::exception& caught) {
    error = caught.what();
  }
}

TEST(Async, ResumesItsAwaiterWhenTheOtherSideSetsTheValue) {
  Completion<int> later;
  int result = 0;
  std::string error;
  store(sum(later), result, error);
  EXPECT_EQ(result, 0);
  later.set(41);
  EXPECT_EQ(result, 42);
}

TEST(Async, TakesAValueThatWasThereBeforeAnybodyAwaitedIt) {
  Completion<int> later;
  later.set(1);
  int result = 0;
  std::string error;
  store(sum(later), result, error);
  EXPECT_EQ(result, 2);
}

TEST(Async, KeepsTheFirstOfTwoValues) {
  Completion<int> later;
  later.set(1);
  later.set(5);
  int result = 0;
  std::string error;
  store(sum(later), result, error);
  EXPECT_EQ(result, 2);
}

TEST(Async, CarriesAnExceptionToTheAwaiter) {
  int result = 0;
  std::string error;
  store(failing(), result, error);
  EXPECT_EQ(error, "no");
}

Detached wait(sd_event* event, int fd, std::uint64_t timeout, int& outcome) {
  outcome = co_await os::readable(event, fd, timeout) ? 1 : 2;
  sd_event_exit(event, 0);
}

TEST(Readable, TellsAnEndOfThePipeFromTimeRunningOut) {
  for (const bool written : {true, false}) {
    sd_event* event = nullptr;
    ASSERT_GE(sd_event_new(&event), 0);
    int pipe[2];
    ASSERT_EQ(::pipe(pipe), 0);
    if (written) {
      ASSERT_EQ(::write(pipe[1], "x", 1), 1);
    }
    int outcome = 0;
    wait(event, pipe[0], 20'000, outcome);
    EXPECT_EQ(outcome, 0);
    EXPECT_GE(sd_event_loop(event), 0);
    EXPECT_EQ(outcome, written ? 1 : 2);
    ::close(pipe[0]);
    ::close(pipe[1]);
    sd_event_unref(event);
  }
}

Detached rest(sd_event* event) { co_await os::pause(event, 3'600'000'000); }

TEST(Pause, GoesOnWhileTheMachineSleeps) {
  sd_event* event = nullptr;
  ASSERT_GE(sd_event_new(&event), 0);
  rest(event);
  ASSERT_GE(sd_event_run(event, 0), 0);
  // What the kernel says of the timer that the loop waits on.
  std::string clocks;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fdinfo")) {
    std::ifstream info(entry.path());
    std::string line;
    while (std::getline(info, line))
      if (line.starts_with("clockid: ")) clocks += line.substr(9) + " ";
  }
  EXPECT_EQ(clocks, std::to_string(CLOCK_BOOTTIME) + " ");
  sd_event_unref(event);
}

}  // namespace
}  // namespace coffer
