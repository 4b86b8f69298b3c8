#include "engine/uid_clash.hpp"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <unistd.h>

namespace coffer::engine {
namespace {

class UidClash : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directory(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  IdFiles files(const std::string& passwd, const std::string& group, const std::string& subuid,
                const std::string& subgid) {
    const auto write = [&](const char* name, const std::string& text) {
      const auto path = folder_ / name;
      std::ofstream(path) << text;
      return path.string();
    };
    return {write("passwd", passwd), write("group", group), write("subuid", subuid), write("subgid", subgid)};
  }

  std::filesystem::path folder_ = std::filesystem::temp_directory_path() / ("clash-" + std::to_string(::getpid()));
  model::UidRanges ranges_;
  std::string first_ = std::to_string(ranges_.first());
  std::string last_ = std::to_string(ranges_.last());
  std::string before_ = std::to_string(ranges_.first() - 1);
  std::string after_ = std::to_string(ranges_.last() + 1);
};

TEST_F(UidClash, NobodyHasWhatIsBesideTheRange) {
  EXPECT_EQ(uidClashInFiles(
                ranges_, files("# x\n\na:x:" + before_ + ":0::/:/bin/sh\nb:x:" + after_ + ":0::/:/bin/sh\nbroken\n",
                               "g:x:" + before_ + ":\n", "a:" + before_ + ":1\nb:" + after_ + ":65536\n", "a:x:y\n")),
            std::nullopt);
  EXPECT_EQ(uidClashInFiles(ranges_, {"/nowhere/1", "/nowhere/2", "/nowhere/3", "/nowhere/4"}), std::nullopt);
}

TEST_F(UidClash, NamesWhoHasANumberOfTheRange) {
  const auto user = uidClashInFiles(ranges_, files("mallory:x:" + last_ + ":0::/:/bin/sh\n", "", "", ""));
  ASSERT_TRUE(user);
  EXPECT_NE(user->find("mallory"), std::string::npos) << *user;
  EXPECT_TRUE(uidClashInFiles(ranges_, files("", "g:x:" + first_ + ":\n", "", "")));
}

TEST_F(UidClash, SeesRangesOfSubordinateNumbersThatReachIn) {
  for (const std::string& line : {"a:" + first_ + ":1", "a:" + last_ + ":65536", "a:" + before_ + ":2",
                                  std::string("a:1:4294967295"), std::string("a:100000:99999999999999999")}) {
    EXPECT_TRUE(uidClashInFiles(ranges_, files("", "", line + "\n", ""))) << line;
    EXPECT_TRUE(uidClashInFiles(ranges_, files("", "", "", line + "\n"))) << line;
  }
}

}  // namespace
}  // namespace coffer::engine
