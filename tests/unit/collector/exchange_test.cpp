#include "workers/collector/exchange.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "model/limits.hpp"
#include "scratch_folder.hpp"

namespace coffer::collector {
namespace {

TEST(ExchangeTest, GivesTheBytesOfPlainFiles) {
  const ScratchFolder folder;
  folder.write("plan.md", std::string("a\0b", 3));
  folder.write("other.md", "not one of ours");
  const auto exchange = Exchange::read(folder / "");
  ASSERT_NE(exchange.find("plan.md"), nullptr);
  EXPECT_EQ(*exchange.find("plan.md"), std::string("a\0b", 3));
  EXPECT_EQ(exchange.find("other.md"), nullptr);
  EXPECT_EQ(exchange.find("review.json"), nullptr);
  EXPECT_TRUE(exchange.refusals().empty());
}

TEST(ExchangeTest, ALinkNeverShowsWhatItPointsAt) {
  const ScratchFolder folder;
  folder.write("outside", "secret");
  folder.write("twice", "secret");
  std::filesystem::create_directories(folder / "out");
  std::filesystem::create_symlink(folder / "outside", folder / "out/plan.md");
  std::filesystem::create_hard_link(folder / "twice", folder / "out/review.json");
  const auto exchange = Exchange::read(folder / "out");
  EXPECT_EQ(exchange.find("plan.md"), nullptr);
  EXPECT_EQ(exchange.find("review.json"), nullptr);
  EXPECT_EQ(exchange.refusal("plan.md"), "plan.md is not a plain file with one link");
  EXPECT_EQ(exchange.refusal("review.json"), "review.json is not a plain file with one link");
}

TEST(ExchangeTest, APipeOrAFolderHoldsNobodyUp) {
  const ScratchFolder folder;
  ASSERT_EQ(::mkfifo((folder / "plan.md").c_str(), 0600), 0);
  std::filesystem::create_directories(folder / "question.md");
  folder.write("answer.md", "there");
  const auto exchange = Exchange::read(folder / "");
  EXPECT_EQ(exchange.refusals().size(), 2U);
  EXPECT_NE(exchange.find("answer.md"), nullptr) << "one bad file takes nothing from the others";
}

TEST(ExchangeTest, WhatIsTooLongIsRefused) {
  const ScratchFolder folder;
  folder.write("plan.md", std::string(limits::kTextBytes, 'x'));
  folder.write("review.json", std::string(limits::kTextBytes + 1, 'x'));
  const auto exchange = Exchange::read(folder / "");
  EXPECT_NE(exchange.find("plan.md"), nullptr);
  EXPECT_EQ(exchange.find("review.json"), nullptr);
  EXPECT_TRUE(exchange.refusal("review.json").contains("longer than"));
}

TEST(ExchangeTest, NoFolderIsAnEmptyOne) {
  const ScratchFolder folder;
  EXPECT_TRUE(Exchange::read(folder / "nothing").refusals().empty());
}

}  // namespace
}  // namespace coffer::collector
