#include "agents/data_set.hpp"

#include <fstream>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "model/limits.hpp"

namespace coffer::agents {
namespace {

class DataSetTest : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::remove_all(top_);
    std::filesystem::create_directories(vendor_);
    std::filesystem::create_directories(machine_);
  }
  static void write(const std::filesystem::path& path, const std::string& text) { std::ofstream(path) << text; }

  std::filesystem::path top_ = std::filesystem::path(testing::TempDir()) / "data-set";
  std::filesystem::path vendor_ = top_ / "usr";
  std::filesystem::path machine_ = top_ / "etc";
  DataSet<std::string> set_{
      {vendor_, machine_},
      ".toml",
      [](std::string_view text, std::string_view, std::string_view file) -> std::expected<std::string, std::string> {
        if (text == "bad") return std::unexpected(std::string(file) + ":1: is bad");
        return std::string(text);
      }};
};

TEST_F(DataSetTest, TheMachinesFileHidesTheVendorsOfTheSameName) {
  write(vendor_ / "a.toml", "vendor a");
  write(vendor_ / "b.toml", "vendor b");
  write(machine_ / "b.toml", "machine b");
  write(machine_ / "c.toml", "machine c");
  write(machine_ / "notes.txt", "not ours");
  set_.reload();
  EXPECT_EQ(set_.all().at("a"), "vendor a");
  EXPECT_EQ(set_.all().at("b"), "machine b");
  EXPECT_EQ(set_.all().at("c"), "machine c");
  EXPECT_EQ(set_.all().size(), 3U);
  EXPECT_TRUE(set_.problems().empty());
}

TEST_F(DataSetTest, ABadFileKeepsTheLastGoodOne) {
  write(vendor_ / "a.toml", "vendor a");
  write(machine_ / "a.toml", "machine a");
  set_.reload();
  write(machine_ / "a.toml", "bad");
  set_.reload();
  EXPECT_EQ(set_.all().at("a"), "machine a");
  ASSERT_EQ(set_.problems().size(), 1U);
  EXPECT_NE(set_.problems().at(0).find("a.toml:1: is bad"), std::string::npos);
}

TEST_F(DataSetTest, ABadFileIsNeverReplacedByTheVendors) {
  write(vendor_ / "a.toml", "vendor a");
  write(machine_ / "a.toml", "bad");
  set_.reload();
  EXPECT_EQ(set_.find("a"), nullptr);
}

TEST_F(DataSetTest, AnEmptyFileOrALinkToNullTakesANameAway) {
  write(vendor_ / "a.toml", "vendor a");
  write(vendor_ / "b.toml", "vendor b");
  write(machine_ / "a.toml", "");
  std::filesystem::create_symlink("/dev/null", machine_ / "b.toml");
  set_.reload();
  EXPECT_TRUE(set_.all().empty());
  EXPECT_TRUE(set_.problems().empty());
}

TEST_F(DataSetTest, WhatIsNoUsableFileIsAProblemAndNothingElse) {
  write(vendor_ / "good.toml", "good");
  write(vendor_ / "Bad Name.toml", "x");
  std::filesystem::create_directory(vendor_ / "folder.toml");
  ASSERT_EQ(::mkfifo((vendor_ / "pipe.toml").c_str(), 0600), 0);
  write(vendor_ / "long.toml", std::string(limits::kDataFileBytes + 1, 'x'));
  std::filesystem::create_symlink("nowhere", vendor_ / "link.toml");
  set_.reload();
  EXPECT_EQ(set_.all().size(), 1U);
  EXPECT_EQ(set_.problems().size(), 5U);
}

TEST_F(DataSetTest, AMissingFolderIsEmpty) {
  std::filesystem::remove_all(top_);
  set_.reload();
  EXPECT_TRUE(set_.all().empty());
  EXPECT_TRUE(set_.problems().empty());
}

}  // namespace
}  // namespace coffer::agents
