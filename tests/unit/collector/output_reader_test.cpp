#include "workers/collector/output_reader.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>

#include "agents/descriptor.hpp"
#include "model/limits.hpp"
#include "mutate.hpp"
#include "os/fd.hpp"
#include "scratch_folder.hpp"

namespace coffer::collector {
namespace {

agents::Protocol protocolOf(const std::string& output) {
  const auto descriptor = agents::readDescriptor(
      "title='t'\nproviders=['none']\ncommand=['/x']\n[output]\nprotocol='t'\n" + output, "t", "t.toml");
  EXPECT_TRUE(descriptor) << descriptor.error();
  return descriptor ? descriptor->protocol : agents::Protocol();
}

struct Result {
  AgentOutput output;
  std::string transcript;
};

Result read(const agents::Protocol& protocol, const std::string& text) {
  const ScratchFolder folder;
  folder.write("stdout", text);
  Result result;
  {
    const Fd in(::open((folder / "stdout").c_str(), O_RDONLY | O_CLOEXEC));
    const Fd out(::open((folder / "transcript").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    Transcript transcript(out.get());
    result.output = OutputReader(protocol, transcript).read(in.get());
    EXPECT_TRUE(transcript.finish());
  }
  result.transcript = folder.read("transcript");
  return result;
}

const std::string kRules = R"(format='json-lines'
usage='summed'
[[output.line]]
when = { "/type" = "start" }
session = "/id"
[[output.line]]
when = { "/type" = "say" }
each = "/parts"
element = { "/kind" = "text" }
text = "/text"
message = "/text"
[[output.line]]
when = { "/type" = "step" }
input = "/tokens/in"
output = "/tokens/out"
[[output.line]]
when = { "/type" = "end", "/failed" = false }
success = true
[[output.line]]
when = { "/type" = "end", "/failed" = true }
error = "/why"
status = "/status"
[[output.error]]
contains = "too many"
class = "rate-limit"
)";

const std::string kTurn =
    "words before it begins\n"
    "{\"type\":\"start\",\"id\":\"s-1\"}\n"
    "{\"type\":\"say\",\"parts\":[{\"kind\":\"thought\",\"text\":\"no\"},{\"kind\":\"text\",\"text\":\"first\"}]}\n"
    "{\"type\":\"step\",\"tokens\":{\"in\":10,\"out\":3}}\n"
    "{\"type\":\"say\",\"parts\":[{\"kind\":\"text\",\"text\":\"last\"}]}\n"
    "{\"type\":\"step\",\"tokens\":{\"in\":5,\"out\":1}}\n"
    "{\"type\":\"end\",\"failed\":false}";

TEST(OutputReaderTest, ReadsATurnByItsRules) {
  const auto [output, transcript] = read(protocolOf(kRules), kTurn);
  EXPECT_EQ(output.session, "s-1");
  EXPECT_EQ(output.text, "last");
  EXPECT_TRUE(output.success);
  ASSERT_TRUE(output.usage);
  EXPECT_EQ(output.usage->input, 15U);
  EXPECT_EQ(output.usage->output, 4U);
  EXPECT_EQ(output.garbage, 1U);
  EXPECT_EQ(output.lines, 7U);
  EXPECT_EQ(transcript, "# words before it begins\nfirst\nlast\n");
}

TEST(OutputReaderTest, TellsAFailedTurnAndItsClass) {
  const auto protocol = protocolOf(kRules);
  const auto output =
      read(protocol, "{\"type\":\"end\",\"failed\":true,\"why\":\"Too many requests\",\"status\":429}\n").output;
  EXPECT_FALSE(output.success);
  EXPECT_EQ(output.error, "Too many requests");
  EXPECT_EQ(output.status, 429U);
  using agents::ErrorClass;
  EXPECT_EQ(classify(protocol, 429, ""), ErrorClass::RateLimit);
  EXPECT_EQ(classify(protocol, 401, ""), ErrorClass::Auth);
  EXPECT_EQ(classify(protocol, 529, ""), ErrorClass::Overloaded);
  EXPECT_EQ(classify(protocol, 0, "TOO MANY requests"), ErrorClass::RateLimit);
  EXPECT_EQ(classify(protocol, 0, "no idea"), ErrorClass::Other);
}

TEST(OutputReaderTest, AConditionTellsTrueFromItsAbsence) {
  const auto output = read(protocolOf(kRules), "{\"type\":\"end\"}\n{\"type\":\"end\",\"failed\":null}\n").output;
  EXPECT_FALSE(output.success);
  EXPECT_EQ(output.error, "");
}

TEST(OutputReaderTest, ALineThatIsTooLongIsSkippedAndCounted) {
  const auto longLine = "{\"type\":\"start\",\"id\":\"" + std::string(limits::kOutputLineBytes, 'x') + "\"}\n";
  const auto [output, transcript] = read(protocolOf(kRules), longLine + kTurn + "\n" + longLine);
  EXPECT_EQ(output.tooLong, 2U);
  EXPECT_EQ(output.session, "s-1");
  EXPECT_EQ(output.text, "last");
  EXPECT_LT(transcript.size(), 2000U);
}

TEST(OutputReaderTest, NumbersThatMakeNoSenseAreNone) {
  const auto output = read(protocolOf(kRules),
                           "{\"type\":\"step\",\"tokens\":{\"in\":-5,\"out\":1.5}}\n{\"type\":\"step\",\"tokens\":{"
                           "\"in\":1e300,\"out\":\"7\"}}\n"
                           "{\"type\":\"step\",\"tokens\":{\"in\":9007199254740991}}\n{\"type\":\"step\",\"tokens\":{"
                           "\"in\":9007199254740991}}\n")
                          .output;
  ASSERT_TRUE(output.usage);
  EXPECT_LE(output.usage->input, std::uint64_t{1} << 53);
  EXPECT_EQ(output.usage->output, 0U);
}

TEST(OutputReaderTest, NoNumbersAreNotZero) {
  EXPECT_FALSE(read(protocolOf(kRules), "{\"type\":\"end\"}\n").output.usage);
}

TEST(OutputReaderTest, PlainTextIsTheAnswer) {
  const auto [output, transcript] = read(protocolOf("format='text'\n"), "one\ntwo\n");
  EXPECT_EQ(output.text, "one\ntwo\n");
  EXPECT_EQ(transcript, "one\ntwo\n");
  const auto big =
      read(protocolOf("format='text'\n"), std::string(400, 'a') + "\n" + std::string(900000, 'b') + "\nend\n").output;
  EXPECT_LE(big.text.size(), limits::kTextBytes);
  EXPECT_TRUE(big.text.ends_with("end\n"));
}

TEST(OutputReaderTest, UsageOfACumulativeAgentIsWhatThisTurnAdded) {
  agents::Protocol protocol;
  protocol.usage = agents::UsageMode::Cumulative;
  protocol.inputIncludesCached = true;
  EXPECT_EQ(turnUsage(protocol, {3000, 900, 0, 50}, {1500, 500, 0, 30}), (TokenCounts{600, 400, 0, 20}));
  EXPECT_EQ(turnUsage(protocol, {100, 0, 0, 5}, {2000, 500, 0, 30}), (TokenCounts{100, 0, 0, 5})) << "it began anew";
  protocol.usage = agents::UsageMode::PerTurn;
  EXPECT_EQ(turnUsage(protocol, {3000, 900, 0, 50}, {2000, 500, 0, 30}), (TokenCounts{2100, 900, 0, 50}));
  protocol.inputIncludesCached = false;
  EXPECT_EQ(turnUsage(protocol, {3000, 900, 7, 50}, {}), (TokenCounts{3000, 900, 7, 50}));
}

TEST(OutputReaderTest, AnyBytesGiveAReading) {
  const auto protocol = protocolOf(kRules);
  Mutations mutations(21);
  const auto longTurn =
      "{\"type\":\"start\",\"id\":\"" + std::string(limits::kAgentWordBytes + 1, 's') +
      "\"}\n{\"type\":\"say\",\"parts\":[{\"kind\":\"text\",\"text\":\"" + std::string(limits::kTextBytes + 1, 't') +
      "\"}]}\n{\"type\":\"end\",\"failed\":true,\"why\":\"" + std::string(limits::kWordsBytes + 1, 'w') + "\"}\n";
  for (int i = 0; i < 1000; ++i) {
    const auto output = read(protocol, mutations.of(i % 50 == 0 ? longTurn : kTurn)).output;
    EXPECT_LE(output.text.size(), limits::kTextBytes);
    EXPECT_LE(output.session.size(), limits::kAgentWordBytes);
    EXPECT_LE(output.error.size(), limits::kWordsBytes);
  }
  const auto deep = read(protocol, "{\"type\":" + std::string(200000, '[') + "\n" + "{\"a\":" + std::string(5000, '[') +
                                       std::string(5000, ']') + "}\n")
                        .output;
  EXPECT_EQ(deep.garbage, 2U);
}

}  // namespace
}  // namespace coffer::collector
