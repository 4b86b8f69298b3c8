#include "agents/configuration.hpp"

#include <fstream>

#include <gtest/gtest.h>

namespace coffer::agents {
namespace {

TEST(Configuration, HasDefaultsForWhatItDoesNotSay) {
  const auto configuration =
      Configuration::read("accept-missing = ['memory', 'pids']\n[limits]\nrounds = 5\n", "c.toml");
  ASSERT_TRUE(configuration) << configuration.error();
  EXPECT_EQ(configuration->acceptMissing, (std::vector<std::string>{"memory", "pids"}));
  EXPECT_EQ(configuration->rounds, 5U);
  EXPECT_EQ(configuration->turnMinutes, 60U);
}

TEST(Configuration, BindsRoles) {
  const auto configuration =
      Configuration::read("[roles.writer]\nagent = 'codex'\nmodel = 'm'\nprovider = 'local'\n", "c.toml");
  ASSERT_TRUE(configuration) << configuration.error();
  EXPECT_EQ(configuration->roles.at(model::Role::Writer).text(), "codex/m@local");
  EXPECT_FALSE(configuration->roles.contains(model::Role::Planner));
}

TEST(Configuration, SaysWhereItIsWrong) {
  EXPECT_EQ(Configuration::read("accept-missing = ['disk']\n", "c.toml").error().substr(0, 9), "c.toml:1:");
  EXPECT_EQ(Configuration::read("[limits]\nrounds = -1\n", "c.toml").error(),
            "c.toml:2: limits.rounds must be from 0 to 20");
  EXPECT_EQ(Configuration::read("[roles.boss]\nagent = 'x'\n", "c.toml").error(), "c.toml:1: unknown key roles.boss");
  EXPECT_EQ(Configuration::read("[roles.writer]\nagent = 'a b'\n", "c.toml").error().substr(0, 9), "c.toml:2:");
}

TEST(ConfigurationFile, KeepsTheLastGoodOneAndSaysWhatIsWrong) {
  const auto folder = std::filesystem::path(testing::TempDir()) / "configuration";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  const auto path = folder / "cofferd.toml";
  ConfigurationFile file({path, folder / "vendor.toml"});
  file.reload();
  EXPECT_EQ(file.current().rounds, 3U) << "no file is no problem";
  EXPECT_EQ(file.problem(), "");

  std::ofstream(path) << "[limits]\nrounds = 7\n";
  file.reload();
  EXPECT_EQ(file.current().rounds, 7U);
  std::ofstream(path) << "[limits]\nrounds = seven\n";
  file.reload();
  EXPECT_EQ(file.current().rounds, 7U);
  EXPECT_NE(file.problem().find("cofferd.toml:2:"), std::string::npos) << file.problem();
  std::filesystem::remove(path);
  std::ofstream(folder / "vendor.toml") << "[limits]\nrounds = 2\n";
  file.reload();
  EXPECT_EQ(file.current().rounds, 2U);
  EXPECT_EQ(file.problem(), "");
}

TEST(Configuration, TheRangeOfUidsBeginsWhereNobodyElsesDoes) {
  EXPECT_EQ(Configuration::read("", "c")->uidBase, model::kUidBase);
  EXPECT_EQ(Configuration::read("uid-base = 0x71230000\n", "c")->uidBase, 0x71230000U);
  for (const char* base : {"0", "1000", "100000", "0x6FFF0000", "0x71230001", "0x7FFE0000", "0x80000000", "-1", "'x'"})
    EXPECT_FALSE(Configuration::read("uid-base = " + std::string(base) + "\n", "c")) << base;
}

}  // namespace
}  // namespace coffer::agents
