#include "shown_digests.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

namespace coffer::cli {
namespace {

class ShownDigestsTest : public testing::Test {
 protected:
  ShownDigestsTest() {
    std::string pattern = testing::TempDir() + "/shown-XXXXXX";
    directory_ = mkdtemp(pattern.data());
  }
  ~ShownDigestsTest() override { std::filesystem::remove_all(directory_); }

  std::filesystem::path directory_;
};

TEST_F(ShownDigestsTest, RemembersWhenADigestWasShownLast) {
  const ShownDigests digests(directory_ / "deep" / "shown");
  EXPECT_EQ(digests.when("sha256:aa"), std::nullopt);
  digests.remember("sha256:aa", 5);
  digests.remember("sha256:bb", 6);
  digests.remember("sha256:aa", 7);
  EXPECT_EQ(digests.when("sha256:aa"), 7U);
  EXPECT_EQ(digests.when("sha256:bb"), 6U);
  EXPECT_EQ(digests.when("sha256:a"), std::nullopt);
}

TEST_F(ShownDigestsTest, KeepsAFileThatOnlyItsUserReads) {
  const ShownDigests digests(directory_ / "shown");
  digests.remember("sha256:aa", 5);
  const auto mode = std::filesystem::status(directory_ / "shown").permissions();
  EXPECT_EQ(mode & (std::filesystem::perms::group_all | std::filesystem::perms::others_all),
            std::filesystem::perms::none);
}

TEST_F(ShownDigestsTest, ForgetsTheOldestRatherThanGrow) {
  const ShownDigests digests(directory_ / "shown");
  std::ofstream(directory_ / "shown") << [] {
    std::string lines;
    for (int i = 0; i < 5000; ++i)
      lines += "sha256:" + std::to_string(i) + " 1\n";
    return lines;
  }();
  digests.remember("sha256:new", 2);
  EXPECT_EQ(digests.when("sha256:new"), 2U);
  EXPECT_EQ(digests.when("sha256:0"), std::nullopt);
  EXPECT_EQ(digests.when("sha256:4999"), 1U);
}

TEST_F(ShownDigestsTest, IgnoresAFileItCannotRead) {
  std::ofstream(directory_ / "shown") << "garbage\n\nsha256:aa notanumber\n";
  const ShownDigests digests(directory_ / "shown");
  EXPECT_EQ(digests.when("sha256:aa"), std::nullopt);
  EXPECT_EQ(ShownDigests("").when("sha256:aa"), std::nullopt);
  ShownDigests("").remember("sha256:aa", 1);
  ShownDigests("/proc/nowhere/shown").remember("sha256:aa", 1);
}

}  // namespace
}  // namespace coffer::cli
