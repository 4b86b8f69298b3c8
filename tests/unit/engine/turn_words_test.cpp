#include "engine/turn_words.hpp"

#include <gtest/gtest.h>

#include "model/limits.hpp"

namespace coffer::engine {
namespace {

sandbox::UnitEnd exited(std::int32_t status) {
  return {.result = status == 0 ? "success" : "exit-code", .code = 1, .status = status, .invocation = {}};
}

TurnEvidence asked(std::string_view failure, std::uint64_t status, std::string_view said = "no") {
  return {.agent = "Codex",
          .provider = "work",
          .url = "https://api.example.com/v1",
          .failure = failure,
          .status = status,
          .said = said,
          .end = exited(1)};
}

TEST(TurnWords, SayWhatTheAgentDidAndSaid) {
  TurnEvidence evidence{.agent = "Frail", .provider = {}, .url = {}, .failure = "other", .said = "", .end = exited(3)};
  EXPECT_EQ(turnWords(evidence), "Frail ended with exit status 3");
  evidence.said = "no licence\n\ton this machine.\n";
  EXPECT_EQ(turnWords(evidence), "Frail ended with exit status 3: no licence on this machine");
  evidence.said = "";
  evidence.end = exited(139);
  EXPECT_EQ(turnWords(evidence), "Frail ended with exit status 139 (as by signal SEGV)");
  evidence.end = exited(0);
  EXPECT_EQ(turnWords(evidence), "Frail ended without saying that its turn was over");
}

TEST(TurnWords, NameTheProviderWhereItIsTheCause) {
  EXPECT_EQ(turnWords(asked("auth", 401)),
            "the provider work (https://api.example.com/v1) does not take its key (HTTP 401): no");
  EXPECT_EQ(turnWords(asked("server", 500, "")),
            "the provider work (https://api.example.com/v1) could not serve (HTTP 500)");
  // What an agent makes of it would only mislead.
  EXPECT_EQ(
      turnWords(asked("tls", 502, "high demand")),
      "the provider work (https://api.example.com/v1) shows no certificate that this machine trusts for that name");
  EXPECT_EQ(turnWords(asked("client-gone", 200)), "Codex ended with exit status 1: no");
}

TEST(TurnWords, TellWhatATurnWaitedForWhenItsTimeWasOver) {
  auto evidence = asked("client-gone", 0);
  evidence.end = {.result = "timeout", .code = 2, .status = 15, .invocation = {}};
  EXPECT_EQ(turnWords(evidence),
            "Codex did not end in time and was stopped; it was waiting for an answer of the provider work "
            "(https://api.example.com/v1)");
  evidence.failure = "auth";
  EXPECT_EQ(turnWords(evidence), "Codex did not end in time and was stopped: no");
}

TEST(TurnWords, AreBoundedAndWholeCharacters) {
  const auto words = turnWords(asked(
      "auth", 401, "\xc3\xa4" + std::string(1, 'x') + [] {
        std::string long_;
        for (int i = 0; i < 1000; ++i)
          long_ += "\xc3\xa4";
        return long_;
      }()));
  EXPECT_LT(words.size(), limits::kSaidBytes + 120);
  EXPECT_TRUE(words.ends_with("\xc3\xa4 ..."));
}

}  // namespace
}  // namespace coffer::engine
