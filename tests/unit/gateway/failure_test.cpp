#include "workers/gateway/failure.hpp"

#include <map>
#include <string>

#include <gtest/gtest.h>

#include "model/pause_limits.hpp"

namespace coffer::gateway {
namespace {

constexpr std::uint64_t kNow = 1'790'000'000;

Pause pauseOf(const std::map<std::string, std::string, std::less<>>& headers) {
  return readPause(
      [&](std::string_view name) {
        const auto found = headers.find(name);
        return found == headers.end() ? std::string_view{} : std::string_view(found->second);
      },
      kNow);
}

TEST(Failure, IsToldByStatus) {
  EXPECT_EQ(classifyStatus(200, ""), "");
  EXPECT_EQ(classifyStatus(307, ""), failure::kRedirect);
  EXPECT_EQ(classifyStatus(400, ""), failure::kRequest);
  EXPECT_EQ(classifyStatus(401, ""), failure::kAuth);
  EXPECT_EQ(classifyStatus(402, ""), failure::kQuota);
  EXPECT_EQ(classifyStatus(404, ""), failure::kRequest);
  EXPECT_EQ(classifyStatus(429, ""), failure::kRateLimit);
  EXPECT_EQ(classifyStatus(500, ""), failure::kServer);
  EXPECT_EQ(classifyStatus(529, ""), failure::kOverloaded);
}

TEST(Failure, AUsedUpQuotaIsNoRateLimit) {
  EXPECT_EQ(classifyStatus(429, R"({"error":{"type":"insufficient_quota","code":"insufficient_quota"}})"),
            failure::kQuota);
  EXPECT_EQ(classifyStatus(429, R"({"error":{"type":"usage_limit_reached"}})"), failure::kQuota);
  EXPECT_EQ(classifyStatus(429, R"({"error":{"type":"rate_limit_error"}})"), failure::kRateLimit);
  EXPECT_EQ(
      classifyStatus(400, R"({"error":{"type":"invalid_request_error","message":"Your credit balance is too low"}})"),
      failure::kQuota);
}

TEST(Failure, ATooLongConversationIsNamed) {
  EXPECT_EQ(classifyStatus(400, R"({"error":{"code":"context_length_exceeded"}})"), failure::kContext);
  EXPECT_EQ(
      classifyStatus(400, R"({"error":{"type":"invalid_request_error","message":"prompt is too long: 9 tokens"}})"),
      failure::kContext);
  EXPECT_EQ(classifyStatus(413, ""), failure::kContext);
}

TEST(Pause, ReadsSecondsAndDates) {
  EXPECT_EQ(pauseOf({{"retry-after", "20"}}).retryAfter, 20u);
  EXPECT_EQ(pauseOf({{"retry-after", "1.2"}}).retryAfter, 2u);
  EXPECT_EQ(pauseOf({{"retry-after-ms", "1500"}}).retryAfter, 2u);
  EXPECT_EQ(pauseOf({{"retry-after", "Mon, 21 Sep 2026 14:13:50 GMT"}}).retryAfter, 30u);
  EXPECT_EQ(pauseOf({{"retry-after", "Mon, 21 Sep 2020 14:13:50 GMT"}}).retryAfter, 0u);
}

TEST(Pause, ReadsWhatProvidersSayAboutTheirLimits) {
  EXPECT_EQ(pauseOf({{"x-ratelimit-reset-tokens", "1m2s"}, {"x-ratelimit-reset-requests", "20ms"}}).reset, kNow + 62);
  EXPECT_EQ(pauseOf({{"x-codex-primary-reset-after-seconds", "7200"}}).reset, kNow + 7200);
  EXPECT_EQ(pauseOf({{"anthropic-ratelimit-unified-reset", std::to_string(kNow + 5)}}).reset, kNow + 5);
  EXPECT_EQ(pauseOf({{"anthropic-ratelimit-tokens-reset", "2026-09-21T14:14:00Z"}}).reset, kNow + 40);
}

TEST(Pause, NobodyIsToldToWaitForEver) {
  constexpr auto kMost = limits::kProviderPauseSeconds;
  EXPECT_EQ(pauseOf({{"retry-after", std::to_string(kMost)}}).retryAfter, kMost);
  EXPECT_EQ(pauseOf({{"retry-after", std::to_string(kMost + 1)}}).retryAfter, kMost);
  EXPECT_EQ(pauseOf({{"retry-after", "Mon, 21 Sep 2126 14:13:50 GMT"}}).retryAfter, kMost);
  EXPECT_EQ(pauseOf({{"anthropic-ratelimit-unified-reset", std::to_string(kNow + kMost)}}).reset, kNow + kMost);
  EXPECT_FALSE(pauseOf({{"anthropic-ratelimit-unified-reset", std::to_string(kNow + kMost + 1)}}).reset);
}

TEST(Pause, NonsenseIsNothing) {
  for (const std::string value : {"", "soon", "-5", "99999999999999999999", "nan", "1x", "1m2", "\xff"}) {
    const auto pause =
        pauseOf({{"anthropic-ratelimit-unified-reset", value}, {"x-codex-primary-reset-after-seconds", value + "q"}});
    EXPECT_FALSE(pause.reset) << value;
    EXPECT_FALSE(pauseOf({{"retry-after", value}}).retryAfter) << value;
  }
}

}  // namespace
}  // namespace coffer::gateway
