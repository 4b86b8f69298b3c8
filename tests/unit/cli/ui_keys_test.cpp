#include <random>

#include <gtest/gtest.h>

#include "ui/keys.hpp"

namespace coffer::cli::ui {
namespace {

using ftxui::Event;
using ftxui::Mouse;

std::vector<std::string> inputs(const std::vector<Event>& events) {
  std::vector<std::string> result;
  for (const auto& event : events)
    result.push_back((event.is_character() ? "char " : event.is_mouse() ? "mouse " : "key ") + event.input());
  return result;
}

TEST(Keys, CharactersAreWholeHoweverTheyCome) {
  KeyReader reader;
  EXPECT_EQ(inputs(reader.take("a\xc3")), (std::vector<std::string>{"char a"}));
  EXPECT_EQ(inputs(reader.take("\xa4\xf0\x9f\x98\x80")),
            (std::vector<std::string>{"char \xc3\xa4", "char \xf0\x9f\x98\x80"}));
  EXPECT_EQ(inputs(reader.take("\xff\xc3x\xa4y")), (std::vector<std::string>{"char x", "char y"}))
      << "no UTF-8 is nothing";
}

TEST(Keys, NamesAreTheLibrarys) {
  KeyReader reader;
  EXPECT_EQ(reader.take("\r\n\t\b\x7f\x1b[A\x1bOB\x1b[Z\x1b[5~\x1bOH\x1b[F"),
            (std::vector{Event::Return, Event::Return, Event::Tab, Event::Backspace, Event::Backspace, Event::ArrowUp,
                         Event::ArrowDown, Event::TabReverse, Event::PageUp, Event::Home, Event::End}));
  EXPECT_EQ(inputs(reader.take("\x04\x0c")), (std::vector<std::string>{"key \x04", "key \x0c"}));
}

TEST(Keys, EscapeAloneIsItselfOnceNothingFollows) {
  KeyReader reader;
  EXPECT_TRUE(reader.take("\x1b").empty());
  EXPECT_TRUE(reader.waits());
  EXPECT_EQ(reader.rest(), std::vector{Event::Escape});
  EXPECT_FALSE(reader.waits());
  EXPECT_TRUE(reader.take("\x1b[").empty());
  EXPECT_EQ(reader.take("B"), std::vector{Event::ArrowDown}) << "in two pieces";
  EXPECT_EQ(reader.take("\x1b\x1b[A"), (std::vector{Event::Special("\x1b"), Event::ArrowUp}));
  EXPECT_TRUE(reader.take("\x1b[1;").empty());
  EXPECT_TRUE(reader.rest().empty()) << "a sequence that was cut off is no key";
  EXPECT_EQ(inputs(reader.take("q")), std::vector<std::string>{"char q"});
}

TEST(Keys, TheMouseIsUnderstoodInBothWays) {
  KeyReader reader;
  auto events = reader.take("\x1b[<0;12;3M\x1b[<0;12;3m\x1b[<65;1;1M\x1b[M !\"");
  ASSERT_EQ(events.size(), 4U);
  EXPECT_EQ(events[0].mouse().button, Mouse::Left);
  EXPECT_EQ(events[0].mouse().motion, Mouse::Pressed);
  EXPECT_EQ(events[0].mouse().x, 11);
  EXPECT_EQ(events[0].mouse().y, 2);
  EXPECT_EQ(events[1].mouse().motion, Mouse::Released);
  EXPECT_EQ(events[2].mouse().button, Mouse::WheelDown);
  EXPECT_EQ(events[3].mouse().x, 0);
  EXPECT_EQ(events[3].mouse().y, 1);
  EXPECT_TRUE(reader.take("\x1b[<99999999999;1;1M\x1b[<1;1M\x1b[<;;M").empty());
}

TEST(Keys, WhateverComesNothingIsKeptForLong) {
  KeyReader reader;
  std::mt19937 random(7);
  for (int i = 0; i < 20000; ++i) {
    std::string bytes(1 + random() % 7, '\0');
    for (auto& c : bytes)
      c = random() % 3 == 0 ? "\x1b[O<M;1"[random() % 7] : static_cast<char>(random());
    static_cast<void>(reader.take(bytes));
  }
  static_cast<void>(reader.take("\x1b[" + std::string(100000, '1')));
  static_cast<void>(reader.rest());
  EXPECT_EQ(inputs(reader.take("x")), std::vector<std::string>{"char x"});
}

}  // namespace
}  // namespace coffer::cli::ui
