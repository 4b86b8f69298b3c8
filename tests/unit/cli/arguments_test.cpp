#include <CLI/CLI.hpp>
#include <sstream>

#include <glib.h>
#include <gtest/gtest.h>

#include "assignment.hpp"
#include "invocation.hpp"
#include "project_choice.hpp"
#include "verb.hpp"

namespace coffer::cli {
namespace {

/// 0 for a command line that the grammar takes, the parser's number otherwise.
int parse(const std::vector<std::string>& words, GlobalOptions* options = nullptr) {
  Invocation invocation;
  const auto app = commandLine(invocation);
  int result = 0;
  try {
    cli::parse(*app, invocation, words);
  } catch (const CLI::Success&) {
  } catch (const CLI::ParseError& error) {
    result = error.get_exit_code();
  }
  if (options) *options = invocation.options;
  return result;
}

TEST(Arguments, TakesEveryVerbAsItIsDocumented) {
  const std::vector<std::vector<std::string>> lines = {
      {},
      {"new", "Fix it"},
      {"new", "-p", "zlib", "--flow", "single", "--agent", "writer=codex:m", "--policy", "plan=auto", "Fix it"},
      {"new"},
      {"new", "-"},
      {"list"},
      {"list", "--all", "--state", "done", "--state", "failed"},
      {"show"},
      {"show", "17"},
      {"watch", "17"},
      {"plan", "17"},
      {"diff", "17", "--stat"},
      {"review", "17"},
      {"accept", "17", "--digest", "sha256:00"},
      {"accept", "--branch", "x"},
      {"reply", "17", "text"},
      {"reply", "-"},
      {"log", "17", "--gate"},
      {"log", "--events"},
      {"log", "17", "--run", "3"},
      {"retry", "17", "--from", "gate"},
      {"provider", "allow", "openai", "alice", "%developers"},
      {"provider", "deny", "openai", "alice"},
      {"project", "set", "--test", "make test", "--policy", "landing=auto"},
      {"cancel", "17"},
      {"delete", "17", "-y"},
      {"project", "add"},
      {"project", "add", "dir", "--name", "x", "--build", "make", "--test", "make test", "--test", "make check"},
      {"project", "list"},
      {"project", "show"},
      {"project", "remove", "x"},
      {"provider", "add", "x", "--kind", "openai", "--url", "http://127.0.0.1:1", "--machine"},
      {"provider", "key", "x"},
      {"provider", "list"},
      {"provider", "remove", "x"},
      {"agent", "list"},
      {"agent", "test", "codex", "--model", "m"},
      {"doctor"},
      {"doctor", "--json"},
  };
  for (const auto& line : lines)
    EXPECT_EQ(parse(line), 0) << (line.empty() ? "" : line.front());
}

TEST(Arguments, RefusesWhatMakesNoSense) {
  for (const auto& line : std::vector<std::vector<std::string>>{{"nonsense"},
                                                                {"project"},
                                                                {"show", "seventeen"},
                                                                {"show", "-5"},
                                                                {"provider", "add", "x"},
                                                                {"log", "17", "--gate", "--events"},
                                                                {"list", "--bogus"}})
    EXPECT_NE(parse(line), 0) << line.front();
}

TEST(Arguments, TakesOptionsOfEverythingBeforeAndAfterTheVerb) {
  GlobalOptions options;
  EXPECT_EQ(parse({"--json", "-H", "me@far", "list"}, &options), 0);
  EXPECT_TRUE(options.json);
  EXPECT_EQ(options.host, "me@far");
  EXPECT_EQ(parse({"project", "list", "--json", "--no-ask-password", "--no-pager"}, &options), 0);
  EXPECT_TRUE(options.json);
  EXPECT_FALSE(options.askPassword);
  EXPECT_FALSE(options.pager);
}

TEST(Arguments, NeverTakesAPromptForAVerb) {
  EXPECT_EQ(parse({"new", "list"}), 0);
  EXPECT_EQ(parse({"reply", "17", "cancel"}), 0);
  EXPECT_EQ(parse({"project", "remove", "list"}), 0);
}

TEST(Arguments, EveryWordArrivesAsItWasTyped) {
  const std::vector<std::string> typed = {"[WIP] Keep a, b and [c]", "[1,2,3]", " [x]", "  []", "{}", "%%", "[", "a]"};
  for (const auto& word : typed) {
    for (const std::vector<std::string>& words : {std::vector{word}, std::vector{word, word}}) {
      Invocation invocation;
      CLI::App app;
      std::vector<std::string> values;
      std::vector<std::string> commands;
      std::string name;
      Verb verb(app, invocation, "do", "Does it", {"do"});
      verb.words("WORDS", values, "What").option("--test", commands, "Command").option("--name", name, "Name");
      std::vector<std::string> line = {"do", "--test", word, "--name", word};
      line.insert(line.end(), words.begin(), words.end());
      cli::parse(app, invocation, line);
      EXPECT_EQ(values, words);
      EXPECT_EQ(name, word);
      EXPECT_EQ(commands, std::vector{word});
    }
  }
  GlobalOptions options;
  EXPECT_EQ(parse({"-H", "[::1]", "list"}, &options), 0);
  EXPECT_EQ(options.host, "[::1]");
}

TEST(Arguments, HelpNamesEveryOptionAsItIsTyped) {
  Invocation invocation;
  EXPECT_EQ(commandLine(invocation)->help().find('{'), std::string::npos);
}

TEST(Arguments, ShowsAnExampleForEveryVerb) {
  Invocation invocation;
  const auto app = commandLine(invocation);
  const auto check = [](const auto& self, const CLI::App& verb) -> void {
    for (const auto* inner : verb.get_subcommands([](const CLI::App*) { return true; })) {
      EXPECT_NE(inner->help().find("coffer "), std::string::npos) << inner->get_name();
      EXPECT_NE(inner->get_footer().find("Example"), std::string::npos) << inner->get_name();
      self(self, *inner);
    }
  };
  check(check, *app);
}

/// The words that a shell would give; what comes behind a < is its business.
std::vector<std::string> wordsOf(const std::string& line) {
  int count = 0;
  char** words = nullptr;
  EXPECT_TRUE(g_shell_parse_argv(line.substr(0, line.find(" <")).c_str(), &count, &words, nullptr)) << line;
  std::vector<std::string> result(words, words + count);
  g_strfreev(words);
  return result;
}

TEST(Arguments, TakesEveryExampleThatItsHelpShows) {
  Invocation invocation;
  const auto app = commandLine(invocation);
  std::size_t examples = 0;
  const auto check = [&](const auto& self, const CLI::App& verb) -> void {
    std::istringstream lines(verb.get_footer());
    for (std::string line; std::getline(lines, line);) {
      if (!line.starts_with("  coffer ")) continue;
      ++examples;
      auto words = wordsOf(line.substr(9));
      EXPECT_EQ(parse(words), 0) << line;
    }
    for (const auto* inner : verb.get_subcommands([](const CLI::App*) { return true; }))
      self(self, *inner);
  };
  check(check, *app);
  EXPECT_GT(examples, 30U);
}

TEST(Assignments, AreNameAndValue) {
  const auto good = parseAssignments({"landing=auto", "plan="}, "--policy", "landing=auto");
  ASSERT_TRUE(good);
  EXPECT_EQ(good->at("landing"), "auto");
  EXPECT_EQ(good->at("plan"), "");
  EXPECT_FALSE(parseAssignments({"landing"}, "--policy", "landing=auto"));
  EXPECT_FALSE(parseAssignments({"=x"}, "--policy", "landing=auto"));
  EXPECT_FALSE(parseAssignments({"a=1", "a=2"}, "--policy", "landing=auto"));
}

TEST(Agents, AreWrittenAsTheBusWantsThem) {
  const auto agents = parseAgents({"writer=codex:vendor/model:free", "reviewer=claude", "planner=codex/m"}, "");
  ASSERT_TRUE(agents);
  EXPECT_EQ(agents->at("writer"), "codex/vendor/model:free");
  EXPECT_EQ(agents->at("reviewer"), "claude");
  EXPECT_EQ(agents->at("planner"), "codex/m");
  EXPECT_EQ(parseAgents({"writer="}, "").error().next, "coffer agent list");
  EXPECT_EQ(parseAgents({"writer="}, "me@far").error().next, "coffer -H me@far agent list");
}

TEST(IsWithin, DoesNotMistakeASiblingForAChild) {
  EXPECT_TRUE(isWithin("/home/a/src", "/home/a/src"));
  EXPECT_TRUE(isWithin("/home/a/src/lib", "/home/a/src"));
  EXPECT_FALSE(isWithin("/home/a/src2", "/home/a/src"));
  EXPECT_FALSE(isWithin("/home/a", "/home/a/src"));
  EXPECT_TRUE(isWithin("/x", "/"));
  EXPECT_FALSE(isWithin("/x", ""));
}

}  // namespace
}  // namespace coffer::cli
