#include "agents/risky_file.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "agents/data_set.hpp"

namespace coffer::agents {
namespace {

TEST(RiskyFile, TheShippedOnesNameWhatRunsElsewhere) {
  DataSet<RiskyFile> files({std::string(SOURCE_TREE) + "/daemon/data/risky"}, ".toml", readRisky);
  files.reload();
  EXPECT_TRUE(files.problems().empty()) << files.problems().front();
  const auto names = [&](const char* file, const char* path) {
    const auto* found = files.find(file);
    return found && std::ranges::find(found->paths, path) != found->paths.end();
  };
  EXPECT_TRUE(names("ci", "**/.github/**"));
  EXPECT_TRUE(names("build", "**/Makefile"));
  EXPECT_TRUE(names("dependencies", "**/package-lock.json"));
  EXPECT_TRUE(names("git", "**/.gitattributes"));
  EXPECT_TRUE(names("agents", "**/AGENTS.md"));
}

TEST(RiskyFile, SaysWhatIsWrongAndWhere) {
  const auto fault = [](const std::string& text) {
    const auto file = readRisky(text, "x", "x.toml");
    return file ? "" : file.error();
  };
  EXPECT_EQ(fault("title = 'x'\npaths = ['**/a']\n"), "");
  EXPECT_TRUE(fault("title = 'x'\npaths = ['**/a', ':(top)b']\n").starts_with("x.toml:2: "));
  EXPECT_TRUE(fault("title = 'x'\npaths = ['/a']\n").starts_with("x.toml:2: "));
  EXPECT_NE(fault("title = 'x'\n"), "");
  EXPECT_NE(fault("title = 'x'\npaths = ['a']\nfiles = ['b']\n"), "");
}

}  // namespace
}  // namespace coffer::agents
