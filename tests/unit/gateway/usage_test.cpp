#include "workers/gateway/usage.hpp"

#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

namespace coffer::gateway {
namespace {

class Usage : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "usage-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
    path_ = directory_ + "/usage";
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  [[nodiscard]] std::string bytes() const {
    std::ostringstream out;
    out << std::ifstream(path_, std::ios::binary).rdbuf();
    return out.str();
  }
  static RequestUsage request(std::uint64_t number, Tokens tokens) {
    RequestUsage usage;
    usage.number = number;
    usage.path = "/v1/responses";
    usage.status = 200;
    usage.tokens = tokens;
    usage.model = "m";
    return usage;
  }

  std::string directory_;
  std::string path_;
};

TEST_F(Usage, SumsWhatEnded) {
  auto file = UsageFile::open(path_);
  ASSERT_TRUE(file);
  for (std::uint64_t i = 1; i <= 3; ++i) {
    const auto number = file->begin("/v1/responses", 500);
    ASSERT_TRUE(number);
    EXPECT_EQ(*number, i);
    EXPECT_EQ(file->committed(), (i - 1) * 10 + 500);
    ASSERT_TRUE(file->end(request(*number, {1, 2, 3, 4})));
  }
  EXPECT_EQ(file->totals().requests, 3u);
  EXPECT_EQ(file->totals().tokens.sum(), 30u);

  const auto log = UsageLog::read(bytes());
  ASSERT_TRUE(log);
  EXPECT_EQ(log->totals.tokens.cacheWrite, 9u);
  EXPECT_TRUE(log->open.empty());
  EXPECT_EQ(log->completeBytes, bytes().size());
}

TEST_F(Usage, ARestartCountsEverythingOnce) {
  {
    auto file = UsageFile::open(path_);
    ASSERT_TRUE(file->end(request(*file->begin("/v1/responses", 500), {10, 0, 0, 1})));
    ASSERT_TRUE(file->begin("/v1/responses", 500));  // killed in the middle of this one
  }
  for (int restart = 0; restart < 3; ++restart) {
    auto file = UsageFile::open(path_);
    ASSERT_TRUE(file);
    EXPECT_EQ(file->totals().requests, 2u);
    EXPECT_EQ(file->totals().tokens.sum(), 511u);
    EXPECT_EQ(file->totals().estimated, 1u);
    EXPECT_EQ(file->totals().error, failure::kStopped);
  }
  auto file = UsageFile::open(path_);
  EXPECT_EQ(*file->begin("/v1/responses", 1), 3u);
}

TEST_F(Usage, EveryPrefixOfTheFileCanBeRead) {
  {
    auto file = UsageFile::open(path_);
    auto one = request(*file->begin("/v1/responses", 500), {10, 0, 0, 1});
    one.error = failure::kRateLimit;
    one.pause.retryAfter = 20;
    ASSERT_TRUE(file->end(one));
    file->refused(403, "/v1/files");
    ASSERT_TRUE(file->end(request(*file->begin("/v1/responses", 500), {20, 0, 0, 2})));
  }
  const auto whole = bytes();
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    const auto log = UsageLog::read(std::string_view(whole).substr(0, size));
    ASSERT_TRUE(log) << size;
    EXPECT_LE(log->totals.requests + log->open.size(), 2u);
    EXPECT_LE(log->completeBytes, size);
    // A process that starts on this prefix counts each request once, and can write on.
    std::ofstream(path_, std::ios::binary | std::ios::trunc).write(whole.data(), static_cast<std::streamsize>(size));
    auto file = UsageFile::open(path_);
    ASSERT_TRUE(file) << size;
    const auto number = file->begin("/v1/responses", 0);
    ASSERT_TRUE(number);
    ASSERT_TRUE(file->end(request(*number, {1, 1, 1, 1})));
    const auto again = UsageLog::read(bytes());
    ASSERT_TRUE(again);
    EXPECT_TRUE(again->open.empty());
    EXPECT_EQ(again->totals.requests, *number);
    EXPECT_EQ(again->totals.tokens.sum(), file->totals().tokens.sum());
  }
}

TEST_F(Usage, TheLastRequestsTroubleIsTheRuns) {
  auto file = UsageFile::open(path_);
  auto limited = request(*file->begin("/v1/responses", 0), {});
  limited.status = 429;
  limited.error = failure::kRateLimit;
  limited.pause = {20, 1'790'000'000};
  ASSERT_TRUE(file->end(limited));
  Records report;
  file->totals().write(report);
  EXPECT_EQ(report.get("error"), "rate-limit");
  EXPECT_EQ(report.number("retry-after"), 20u);
  EXPECT_EQ(report.number("reset"), 1'790'000'000u);

  ASSERT_TRUE(file->end(request(*file->begin("/v1/responses", 0), {1, 1, 1, 1})));
  Records later;
  file->totals().write(later);
  EXPECT_FALSE(later.has("error"));
  EXPECT_FALSE(later.has("retry-after"));
}

TEST_F(Usage, RefusalsAreBoundedAndReadable) {
  auto file = UsageFile::open(path_);
  for (int i = 0; i < 1000; ++i)
    file->refused(403, "/v1/\n\x1b[31m" + std::string(1000, 'x'));
  EXPECT_EQ(file->totals().refused, 1000u);
  EXPECT_LT(bytes().size(), 64u * 200);
  EXPECT_FALSE(bytes().contains('\x1b'));
}

TEST_F(Usage, ALinkIsNotFollowed) {
  std::filesystem::create_symlink("/etc/passwd", path_);
  EXPECT_FALSE(UsageFile::open(path_));
}

}  // namespace
}  // namespace coffer::gateway
