#include "agents/descriptor.hpp"

#include <random>

#include <gtest/gtest.h>

#include "agents/data_set.hpp"

namespace coffer::agents {
namespace {

constexpr std::string_view kGood = R"(title = "T"
providers = ["openai-chat", "anthropic"]
command = ["/opt/agents/bin/t", "-m", "{model}"]
resume = ["/opt/agents/bin/t", "-s", "{session}"]
version = ["/opt/agents/bin/t", "--version"]
[environment]
T_KEY = "{key}"
[files]
"t.json" = '{"url": "{endpoint}"}'
[output]
protocol = "t"
format = "json-lines"
usage = "summed"
input-includes-cached = true
[[output.line]]
when = { "/type" = "end", "/error" = false, "/code" = 3 }
success = true
session = "/id"
[[output.line]]
each = "/items"
element = { "/type" = "text" }
text = "/text"
[[output.error]]
contains = "429"
class = "rate-limit"
)";

std::string faultOf(std::string text, std::string_view from, std::string_view to) {
  text.replace(text.find(from), from.size(), to);
  const auto descriptor = readDescriptor(text, "t", "t.toml");
  return descriptor ? "" : descriptor.error();
}

TEST(Descriptor, IsReadWhole) {
  const auto descriptor = readDescriptor(kGood, "t", "t.toml");
  ASSERT_TRUE(descriptor) << descriptor.error();
  EXPECT_EQ(descriptor->executable, "/opt/agents/bin/t");
  EXPECT_EQ(descriptor->providers, (std::vector{ProviderKind::OpenAiChat, ProviderKind::Anthropic}));
  EXPECT_EQ(descriptor->files.at(0).name, "t.json");
  EXPECT_EQ(descriptor->protocol.usage, UsageMode::Summed);
  ASSERT_EQ(descriptor->protocol.lines.size(), 2U);
  EXPECT_EQ(descriptor->protocol.lines.at(0).when.size(), 3U);
  EXPECT_EQ(descriptor->protocol.lines.at(1).each, "/items");
  EXPECT_EQ(descriptor->protocol.errors.at(0).errorClass, ErrorClass::RateLimit);
}

TEST(Descriptor, ShippedOnesAndTheInstantAgentsAreGood) {
  DataSet<Descriptor> set(
      {std::string(SOURCE_TREE) + "/daemon/data/agents", std::string(SOURCE_TREE) + "/tests/agents"}, ".toml",
      readDescriptor);
  set.reload();
  for (const auto& problem : set.problems())
    ADD_FAILURE() << problem;
  for (const auto* name : {"codex", "claude", "opencode", "instant"}) {
    ASSERT_NE(set.find(name), nullptr) << name;
    EXPECT_FALSE(set.all().at(name).resume.empty()) << name;
    EXPECT_FALSE(set.all().at(name).version.empty()) << name;
  }
  EXPECT_EQ(set.all().at("codex").protocol.usage, UsageMode::Cumulative);
  EXPECT_EQ(set.all().at("claude").protocol.usage, UsageMode::PerTurn);
  EXPECT_EQ(set.all().at("opencode").protocol.usage, UsageMode::Summed);
}

TEST(Descriptor, NamesFileAndLineOfAnUnknownKeyOrPlaceholder) {
  const std::string good(kGood);
  EXPECT_EQ(faultOf(good, "{model}", "{modell}"), "t.toml:3: unknown placeholder {modell}");
  EXPECT_EQ(faultOf(good, "{key}", "{token}"), "t.toml:7: unknown placeholder {token}");
  EXPECT_EQ(faultOf(good, "{endpoint}", "{base}"), "t.toml:9: unknown placeholder {base}");
  EXPECT_EQ(faultOf(good, "success = true", "succes = true"), "t.toml:17: unknown key output.line.succes");
  EXPECT_EQ(faultOf(good, "version =", "versions ="), "t.toml:5: unknown key versions");
}

TEST(Descriptor, RefusesWhatCannotWork) {
  const std::string good(kGood);
  EXPECT_EQ(faultOf(good, "\"/opt/agents/bin/t\", \"-m\"", "\"t\", \"-m\""),
            "t.toml:3: command must begin with an absolute path: t");
  EXPECT_EQ(faultOf(good, "{session}", "last"), "t.toml:4: resume does not use {session}");
  EXPECT_EQ(faultOf(good, "\"{model}\"", "\"{session}\"").substr(0, 9), "t.toml:3:");
  EXPECT_EQ(faultOf(good, "anthropic", "telepathy"), "t.toml:2: unknown provider kind telepathy");
  EXPECT_EQ(faultOf(good, "\"t.json\"", "\"../t.json\"").substr(0, 9), "t.toml:9:");
  EXPECT_EQ(faultOf(good, "T_KEY", "\"T KEY\"").substr(0, 9), "t.toml:7:");
  EXPECT_EQ(faultOf(good, "\"/id\"", "\"id\""), "t.toml:18: a JSON pointer begins with a slash: id");
  EXPECT_EQ(faultOf(good, "\"{key}\"", "\"a\\u0000b\""), "t.toml:7: a NUL character cannot be handed to a program");
  EXPECT_EQ(faultOf(good, "each = \"/items\"", ""), "t.toml:21: element needs each");
  EXPECT_EQ(faultOf(good, "version =", "model-option = [\"-x\", \"{model}\"]\nversion ="),
            "t.toml:5: model-option is not in every command, word for word");
}

TEST(Descriptor, ProtocolReachesTheCollectorUnchanged) {
  const auto descriptor = readDescriptor(kGood, "t", "t.toml");
  ASSERT_TRUE(descriptor);
  Records request;
  descriptor->protocol.toRecords(request);
  const auto parsed = Records::parse(request.serialize());
  ASSERT_TRUE(parsed);
  const auto protocol = Protocol::fromRecords(*parsed);
  ASSERT_TRUE(protocol) << protocol.error();
  Records again;
  protocol->toRecords(again);
  EXPECT_EQ(again.serialize(), request.serialize());
  EXPECT_EQ(protocol->lines.at(0).when[1].value, "false");
  EXPECT_TRUE(protocol->inputIncludesCached);
  EXPECT_FALSE(Protocol::fromRecords(Records()));
}

TEST(Descriptor, SurvivesWhateverStandsInAFile) {
  std::mt19937 random(11);
  for (int i = 0; i < 1000; ++i) {
    std::string text(kGood);
    for (auto changes = random() % 3 + 1; changes > 0; --changes)
      text[random() % text.size()] = static_cast<char>(random() % 128);
    readDescriptor(text, "t", "t.toml");
  }
}

}  // namespace
}  // namespace coffer::agents
