#include <gtest/gtest.h>

#include "agents/data_set.hpp"
#include "agents/descriptor.hpp"
#include "scratch_folder.hpp"
#include "workers/collector/turn.hpp"

namespace coffer::collector {
namespace {

/// What the three command lines really wrote, recorded against the scripted model: see recorded/record.py.
class RecordedTest : public testing::Test {
 protected:
  void SetUp() override { set_.reload(); }

  /// The report on `recorded/NAME.jsonl` by the shipped descriptor of the agent.
  Records report(const std::string& agent, const std::string& name, std::string_view exit = "0",
                 const Records& before = {}) {
    std::filesystem::remove_all(folder_ / "in");
    std::filesystem::create_directories(folder_ / "in");
    std::filesystem::create_directories(folder_ / "out");
    std::filesystem::copy_file(std::string(SOURCE_TREE) + "/tests/unit/collector/recorded/" + name + ".jsonl",
                               folder_ / "in/stdout");
    Records request;
    for (const auto* key : {"input", "cached", "cache-write", "output"})
      if (before.has("usage." + std::string(key)))
        request.add("base." + std::string(key), before.get("usage." + std::string(key)));
    request.add("role", "writer");
    request.add("result", std::string_view(exit == "0" ? "success" : "exit-code"));
    request.add("exit", exit);
    set_.all().at(agent).protocol.toRecords(request);
    auto outcome = collectTurn({folder_ / "in", folder_ / "out", request});
    EXPECT_TRUE(outcome);
    return outcome.value_or(Records());
  }
  [[nodiscard]] std::string transcript() const { return folder_.read("out/transcript"); }

  const ScratchFolder folder_;
  agents::DataSet<agents::Descriptor> set_{
      {std::string(SOURCE_TREE) + "/daemon/data/agents"}, ".toml", agents::readDescriptor};
};

TEST_F(RecordedTest, CodexTellsWhatTheConversationUsedAndWeWhatTheTurnUsed) {
  const auto first = report("codex", "codex.first");
  EXPECT_EQ(first.get("outcome"), "ok");
  EXPECT_EQ(first.get("text"), "The first turn is done.");
  EXPECT_EQ(first.get("session").size(), 36U);
  EXPECT_EQ(first.number("usage.input"), 1800U);
  EXPECT_EQ(first.number("usage.cached"), 1200U);
  EXPECT_EQ(first.number("usage.output"), 150U);
  EXPECT_TRUE(transcript().contains("$ /bin/bash -lc 'echo one > file.txt; cat file.txt; ls /nowhere'\n  one\n"));
  EXPECT_TRUE(transcript().contains("  exit 2\n"));

  const auto second = report("codex", "codex.second", "0", first);
  EXPECT_EQ(second.get("session"), first.get("session"));
  EXPECT_EQ(second.number("usage.total-input"), 5000U);
  EXPECT_EQ(second.number("usage.input"), 1200U);
  EXPECT_EQ(second.number("usage.cached"), 800U);
  EXPECT_EQ(second.number("usage.output"), 100U);
}

TEST_F(RecordedTest, CodexErrorsAreToldApart) {
  const auto limited = report("codex", "codex.429", "1");
  EXPECT_EQ(limited.get("outcome"), "failed");
  EXPECT_EQ(limited.get("error-class"), "rate-limit");
  EXPECT_EQ(report("codex", "codex.401", "1").get("error-class"), "auth");
}

TEST_F(RecordedTest, ClaudeTellsWhatTheTurnUsed) {
  const auto first = report("claude", "claude.first");
  EXPECT_EQ(first.get("outcome"), "ok");
  EXPECT_EQ(first.get("text"), "The first turn is done.");
  EXPECT_EQ(first.number("usage.input"), 300U);
  EXPECT_EQ(first.number("usage.cached"), 900U);
  EXPECT_EQ(first.number("usage.cache-write"), 600U);
  EXPECT_EQ(first.number("usage.output"), 126U);
  EXPECT_TRUE(transcript().contains("$ echo two\n  two\nThe first turn is done.\n"));

  const auto second = report("claude", "claude.second", "0", first);
  EXPECT_EQ(second.get("session"), first.get("session"));
  EXPECT_EQ(second.number("usage.input"), 200U);
}

TEST_F(RecordedTest, ClaudeCallsAFailureASuccessAndWeDoNot) {
  const auto limited = report("claude", "claude.429", "1");
  EXPECT_EQ(limited.get("outcome"), "failed");
  EXPECT_EQ(limited.get("error-class"), "rate-limit");
  EXPECT_TRUE(limited.get("error-text").contains("Slow down, please"));
  EXPECT_EQ(report("claude", "claude.401", "1").get("error-class"), "auth");
}

TEST_F(RecordedTest, OpenCodeTellsPartsThatAreSummed) {
  const auto first = report("opencode", "opencode.first");
  EXPECT_EQ(first.get("outcome"), "ok");
  EXPECT_EQ(first.get("text"), "The first turn is done.");
  EXPECT_EQ(first.number("usage.input"), 1800U);
  EXPECT_EQ(first.number("usage.cached"), 1200U);
  EXPECT_EQ(first.number("usage.output"), 150U);
  EXPECT_TRUE(transcript().contains("$ echo two\n  two\n"));

  const auto second = report("opencode", "opencode.second", "0", first);
  EXPECT_EQ(second.get("session"), first.get("session"));
  EXPECT_EQ(second.number("usage.input"), 1200U);
}

TEST_F(RecordedTest, OpenCodeErrorsAreToldApart) {
  const auto limited = report("opencode", "opencode.429", "1");
  EXPECT_EQ(limited.get("outcome"), "failed");
  EXPECT_EQ(limited.get("error-class"), "rate-limit");
  EXPECT_EQ(report("opencode", "opencode.401", "1").get("error-class"), "auth");
}

}  // namespace
}  // namespace coffer::collector
