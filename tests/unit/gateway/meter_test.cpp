#include "workers/gateway/meter.hpp"

#include <random>
#include <string>

#include <gtest/gtest.h>

#include "model/limits.hpp"
#include "workers/gateway/failure.hpp"
#include "workers/gateway/json.hpp"

namespace coffer::gateway {
namespace {

const std::string kResponses =
    "event: response.created\ndata: {\"type\":\"response.created\",\"response\":{\"usage\":null}}\n\n"
    "event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"delta\":\"\\\"usage\\\": "
    "{\\\"input_tokens\\\": 9}\"}\n\n"
    "event: response.completed\ndata: "
    "{\"type\":\"response.completed\",\"response\":{\"model\":\"m-1\",\"usage\":{\"input_tokens\":1000,"
    "\"input_tokens_details\":{\"cached_tokens\":400},\"output_tokens\":50}}}\n\n";

const std::string kChat =
    "data: {\"model\":\"m-2\",\"choices\":[{\"delta\":{\"content\":\"hi\"}}],\"usage\":null}\n\n"
    "data: {\"model\":\"m-2\",\"choices\":[],\"usage\":{\"prompt_tokens\":100,\"completion_tokens\":5}}\n\n"
    "data: "
    "{\"model\":\"m-2\",\"choices\":[],\"usage\":{\"prompt_tokens\":100,\"prompt_tokens_details\":{\"cached_tokens\":"
    "60},\"completion_tokens\":7}}\n\n"
    "data: [DONE]\n\n";

const std::string kMessages =
    "event: message_start\ndata: "
    "{\"type\":\"message_start\",\"message\":{\"model\":\"m-3\",\"usage\":{\"input_tokens\":100,"
    "\"cache_read_input_tokens\":300,\"cache_creation_input_tokens\":200,\"output_tokens\":1}}}\n\n"
    "event: message_delta\ndata: "
    "{\"type\":\"message_delta\",\"usage\":{\"input_tokens\":100,\"cache_read_input_tokens\":300,\"output_tokens\":20}}"
    "\n\n"
    "event: message_delta\ndata: {\"type\":\"message_delta\",\"usage\":{\"output_tokens\":42}}\n\n"
    "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";

Meter run(Protocol protocol, Meter::Framing framing, std::string_view bytes, std::size_t piece = SIZE_MAX) {
  Meter meter(protocol, framing);
  while (!bytes.empty()) {
    const auto size = std::min(piece, bytes.size());
    meter.feed(bytes.substr(0, size));
    bytes.remove_prefix(size);
  }
  meter.finish();
  return meter;
}

void expectTokens(const Meter& meter, std::uint64_t input, std::uint64_t cached, std::uint64_t written,
                  std::uint64_t output) {
  EXPECT_TRUE(meter.counted());
  EXPECT_EQ(meter.tokens().input, input);
  EXPECT_EQ(meter.tokens().cached, cached);
  EXPECT_EQ(meter.tokens().cacheWrite, written);
  EXPECT_EQ(meter.tokens().output, output);
}

TEST(Meter, CountsResponsesWithoutTheCachedTokensInInput) {
  const auto meter = run(Protocol::Responses, Meter::Framing::Events, kResponses);
  expectTokens(meter, 600, 400, 0, 50);
  EXPECT_EQ(meter.model(), "m-1");
}

TEST(Meter, TakesTheLastOfChatsRepeatedCounts) {
  const auto meter = run(Protocol::Chat, Meter::Framing::Events, kChat);
  EXPECT_EQ(meter.tokens().cached, 60u);
  EXPECT_EQ(meter.tokens().output, 7u);
  EXPECT_EQ(meter.model(), "m-2");
}

TEST(Meter, DoesNotSumCumulativeCounts) {
  expectTokens(run(Protocol::Messages, Meter::Framing::Events, kMessages), 100, 300, 200, 42);
}

TEST(Meter, ReadsTheSameInWhateverPieces) {
  for (const std::size_t piece : {1u, 2u, 7u, 64u, 333u}) {
    expectTokens(run(Protocol::Responses, Meter::Framing::Events, kResponses, piece), 600, 400, 0, 50);
    expectTokens(run(Protocol::Messages, Meter::Framing::Events, kMessages, piece), 100, 300, 200, 42);
  }
}

TEST(Meter, ReadsEveryLineEnding) {
  for (const std::string_view ending : {"\r\n", "\r"}) {
    std::string text;
    for (const char c : kMessages)
      if (c == '\n')
        text += ending;
      else
        text += c;
    for (const std::size_t piece : {1u, 5u, 100000u})
      expectTokens(run(Protocol::Messages, Meter::Framing::Events, text, piece), 100, 300, 200, 42);
  }
}

TEST(Meter, ReadsBodiesThatAreOneJsonText) {
  expectTokens(
      run(Protocol::Messages, Meter::Framing::Json,
          R"({"type":"message","model":"m","usage":{"input_tokens":3,"cache_read_input_tokens":2,"output_tokens":1}})",
          9),
      3, 2, 0, 1);
  expectTokens(run(Protocol::Chat, Meter::Framing::Json, R"({"usage":{"prompt_tokens":3,"completion_tokens":1}})"), 3,
               0, 0, 1);
  expectTokens(run(Protocol::Responses, Meter::Framing::Json, R"({"usage":{"input_tokens":3,"output_tokens":1}})"), 3,
               0, 0, 1);
}

TEST(Meter, ACutReplyIsNotCounted) {
  const auto meter =
      run(Protocol::Messages, Meter::Framing::Events, kMessages.substr(0, kMessages.find("event: message_delta")));
  EXPECT_FALSE(meter.counted());
  EXPECT_EQ(meter.tokens().input, 100u);
}

TEST(Meter, WhatAModelSaysIsNotWhatItCosts) {
  // The text of the answer holds a usage object; it is text, not a field.
  const auto cut = kResponses.substr(0, kResponses.find("event: response.completed"));
  EXPECT_FALSE(run(Protocol::Responses, Meter::Framing::Events, cut).counted());
}

TEST(Meter, AnEventOverTheLimitIsLeftOutAndTheNextIsRead) {
  std::string text = "data: {\"usage\":\"" + std::string(limits::kGatewayEventBytes, 'x') + "\"}\n\n" + kResponses;
  expectTokens(run(Protocol::Responses, Meter::Framing::Events, text, 65536), 600, 400, 0, 50);
  EXPECT_FALSE(run(Protocol::Chat, Meter::Framing::Json, text, 65536).counted());
}

TEST(Meter, FindsAnErrorInsideAStream) {
  const auto failed =
      run(Protocol::Responses, Meter::Framing::Events,
          "data: {\"type\":\"response.failed\",\"response\":{\"error\":{\"code\":\"rate_limit_exceeded\"}}}\n\n");
  EXPECT_EQ(classifyWord(failed.error()), failure::kRateLimit);
  const auto overloaded = run(Protocol::Messages, Meter::Framing::Events,
                              "data: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\"}}\n\n");
  EXPECT_EQ(classifyWord(overloaded.error()), failure::kOverloaded);
}

TEST(Meter, SurvivesAnything) {
  std::mt19937 random(17);
  const std::string alphabet = "\r\n:data {}[]\"usage\",0.5e-9input_tokens\\u0000\xff";
  for (int i = 0; i < 3000; ++i) {
    std::string text;
    for (int n = static_cast<int>(random() % 200); n > 0; --n)
      text += alphabet[random() % alphabet.size()];
    auto mixed = kMessages;
    mixed.insert(random() % mixed.size(), text);
    for (const auto protocol : {Protocol::Responses, Protocol::Chat, Protocol::Messages}) {
      run(protocol, Meter::Framing::Events, mixed, 1 + random() % 50);
      run(protocol, Meter::Framing::Json, text, 1 + random() % 50);
    }
  }
}

TEST(Meter, OddNumbersDoNotCount) {
  const auto meter = run(
      Protocol::Chat, Meter::Framing::Json,
      R"({"usage":{"prompt_tokens":-5,"prompt_tokens_details":{"cached_tokens":"many"},"completion_tokens":1e99}})");
  EXPECT_EQ(meter.tokens().sum(), 0u);
}

TEST(WithUsage, AsksForCountsOnlyWhereAStreamDoesNot) {
  const auto changed = withUsage(R"({"model":"m","stream":true,"messages":[]})");
  ASSERT_TRUE(changed);
  EXPECT_TRUE(changed->contains(R"("include_usage":true)")) << *changed;
  EXPECT_TRUE(withUsage(R"({"stream":true,"stream_options":{"include_usage":false}})"));
  EXPECT_FALSE(withUsage(R"({"stream":true,"stream_options":{"include_usage":true}})"));
  EXPECT_FALSE(withUsage(R"({"stream":false})"));
  EXPECT_FALSE(withUsage("not json"));
  EXPECT_FALSE(withUsage("[1]"));
}

}  // namespace
}  // namespace coffer::gateway
