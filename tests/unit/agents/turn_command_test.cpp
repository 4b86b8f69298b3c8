#include "agents/turn_command.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "agents/data_set.hpp"

namespace coffer::agents {
namespace {

class TurnCommandTest : public testing::Test {
 protected:
  void SetUp() override { set_.reload(); }
  [[nodiscard]] const Descriptor& agent(std::string_view name) const { return set_.all().at(std::string(name)); }
  static TurnInput input(std::string session = "") {
    return {"vendor/model-1", "http://127.0.0.1:4180", "coffer-dummy", std::move(session), "/home/agent"};
  }
  static std::string variable(const TurnCommand& command, std::string_view name) {
    std::string value = "(none)";
    int count = 0;
    for (const auto& [known, text] : command.environment)
      if (known == name) value = text, ++count;
    return count > 1 ? "(twice)" : value;
  }
  static bool has(const TurnCommand& command, std::string_view word) {
    return std::ranges::find(command.argv, word) != command.argv.end();
  }

  DataSet<Descriptor> set_{
      {std::string(SOURCE_TREE) + "/daemon/data/agents", std::string(SOURCE_TREE) + "/tests/agents"},
      ".toml",
      readDescriptor};
};

TEST_F(TurnCommandTest, CodexStartsAndResumes) {
  const auto first = buildTurnCommand(agent("codex"), input());
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ(first->argv.front(), "/opt/agents/bin/codex");
  EXPECT_TRUE(has(*first, "vendor/model-1"));
  EXPECT_TRUE(std::ranges::any_of(
      first->argv, [](const auto& word) { return word.contains(R"(base_url="http://127.0.0.1:4180/v1")"); }));
  EXPECT_EQ(variable(*first, "COFFERDAM_KEY"), "coffer-dummy");
  const auto second = buildTurnCommand(agent("codex"), input("019a-b"));
  ASSERT_TRUE(second);
  EXPECT_TRUE(has(*second, "resume"));
  EXPECT_TRUE(has(*second, "019a-b"));
  EXPECT_EQ(second->argv.back(), "-") << "the request comes on standard input";
}

TEST_F(TurnCommandTest, OpenCodeFindsItsFileInTheTurnsInput) {
  const auto command = buildTurnCommand(agent("opencode"), input());
  ASSERT_TRUE(command);
  ASSERT_EQ(command->files.size(), 1U);
  EXPECT_EQ(variable(*command, "OPENCODE_CONFIG"), "/task/in/files/" + command->files[0].first);
  EXPECT_TRUE(command->files[0].second.contains(R"("baseURL": "http://127.0.0.1:4180/v1", "apiKey": "coffer-dummy")"));
  EXPECT_TRUE(command->files[0].second.contains(R"("models": {"vendor/model-1": {}})"));
}

TEST_F(TurnCommandTest, NoPlaceholderIsLeft) {
  for (const auto& [name, descriptor] : set_.all()) {
    for (const auto* session : {"", "s-1"}) {
      const auto command = buildTurnCommand(descriptor, input(session));
      ASSERT_TRUE(command) << name;
      std::string all;
      for (const auto& word : command->argv)
        all += word;
      for (const auto& [key, value] : command->environment)
        all += value;
      for (const auto& [file, content] : command->files)
        all += content;
      for (const auto placeholder : Descriptor::kPlaceholders)
        EXPECT_FALSE(all.contains("{" + std::string(placeholder) + "}")) << name;
    }
  }
}

TEST_F(TurnCommandTest, ASessionThatIsNoPlainWordNeverReachesACommand) {
  const std::string tooLong(300, 'a');
  for (const std::string& session :
       std::vector<std::string>{"--dangerous", "a b", "a\nb", "$(x)", "a\"b", "{key}", tooLong})
    EXPECT_FALSE(buildTurnCommand(agent("codex"), input(session))) << session;
  auto model = input();
  model.model = "m\"},\"evil\":{\"";
  const auto refused = buildTurnCommand(agent("opencode"), model);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::InvalidArgument);
}

TEST_F(TurnCommandTest, AModelIsNeededWhereTheAgentCannotChoose) {
  auto none = input();
  none.model.clear();
  const auto refused = buildTurnCommand(agent("opencode"), none);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::InvalidArgument);
  EXPECT_TRUE(refused.error().message.contains("--agent ROLE=opencode:MODEL")) << refused.error().message;
  EXPECT_TRUE(buildTurnCommand(agent("instant"), none));
}

TEST_F(TurnCommandTest, WithoutAModelNothingThatNamesOneIsLeft) {
  for (const auto* name : {"codex", "claude"}) {
    for (const auto* session : {"", "s-1"}) {
      auto none = input(session);
      const auto with = buildTurnCommand(agent(name), none);
      none.model.clear();
      const auto without = buildTurnCommand(agent(name), none);
      ASSERT_TRUE(with && without) << name;
      EXPECT_EQ(without->argv.size() + 2, with->argv.size()) << name;
      for (const auto* word : {"-m", "--model", ""})
        EXPECT_FALSE(has(*without, word)) << name << " " << word;
    }
  }
  auto none = input();
  none.model.clear();
  EXPECT_EQ(variable(*buildTurnCommand(agent("claude"), none), "ANTHROPIC_SMALL_FAST_MODEL"), "(none)");
  EXPECT_EQ(variable(*buildTurnCommand(agent("claude"), input()), "ANTHROPIC_SMALL_FAST_MODEL"), "vendor/model-1");
}

TEST_F(TurnCommandTest, ADescriptorsVariableReplacesOurs) {
  auto descriptor = agent("instant");
  descriptor.environment.emplace_back("PATH", "/opt/other");
  const auto command = buildTurnCommand(descriptor, input());
  ASSERT_TRUE(command);
  EXPECT_EQ(variable(*command, "PATH"), "/opt/other");
  EXPECT_EQ(variable(*command, "HOME"), "/home/agent");
}

TEST_F(TurnCommandTest, CannotResumeWithoutAResumeCommand) {
  auto descriptor = agent("instant");
  descriptor.resume.clear();
  const auto command = buildTurnCommand(descriptor, input("s"));
  ASSERT_FALSE(command);
  EXPECT_EQ(command.error().code, ErrorCode::Unsupported);
}

TEST_F(TurnCommandTest, BecomesTheRecordsTheInitReads) {
  const auto command = buildTurnCommand(agent("instant"), input());
  ASSERT_TRUE(command);
  const auto records = command->toRecords("/src", "/task/in/request.md");
  EXPECT_EQ(records.get("argv"), "/opt/agents/bin/cofferdam-instant");
  EXPECT_EQ(records.get("cwd"), "/src");
  EXPECT_EQ(records.get("stdin"), "/task/in/request.md");
  EXPECT_EQ(records.get("env"), "HOME=/home/agent");
}

}  // namespace
}  // namespace coffer::agents
