#include <gtest/gtest.h>

#include "workers/repository/object_reader.hpp"
#include "workers/repository/tree_rules.hpp"

namespace coffer::repository {
namespace {

std::string entry(std::string_view mode, std::string_view name) {
  std::string text(mode);
  text += ' ';
  text += name;
  text += '\0';
  return text + std::string(20, '\1');
}

TEST(TreeRules, KnowDotGitInEveryDisguise) {
  for (const std::string_view name : {".git", ".GIT", ".gIt", ".git.", ".git ", ".git. .", "git~1", "GIT~1", "git~2",
                                      ".git:x", ".git::$INDEX_ALLOCATION", ".g\xe2\x80\x8cit", "\xe2\x80\x8e.git",
                                      ".gi\xe2\x81\xaft", "\xef\xbb\xbf.git", "a\\.git", ".git\\hooks", ".GIT \\x"})
    EXPECT_TRUE(isDotGit(name)) << name;
}

TEST(TreeRules, LeaveOtherNamesAlone) {
  for (const std::string_view name :
       {".gitignore", ".gitattributes", "git", ".github", "x.git", "git~", ".git2", "\xff\xfe", "a b"})
    EXPECT_FALSE(isDotGit(name)) << name;
}

TEST(TreeRules, RefuseNamesThatAreNoNames) {
  for (const std::string_view name : {"", ".", "..", "a/b", "/", ".git"})
    EXPECT_NE(examineTreeObject(entry("100644", name), true).refused, "") << name;
  EXPECT_EQ(examineTreeObject(entry("100644", "\n\x01\xff"), true).refused, "");
}

TEST(TreeRules, RefuseModesThatGitDoesNotWrite) {
  for (const std::string_view mode : {"100664", "100777", "104755", "60000", "010644", "0", "140000"})
    EXPECT_NE(examineTreeObject(entry(mode, "a"), true).refused, "") << mode;
  EXPECT_EQ(examineTreeObject(entry("100664", "a"), false).refused, "") << "an old history has it";
}

TEST(TreeRules, RefuseOneNameTwiceAndTellThoseThatDifferInCaseOnly) {
  EXPECT_NE(examineTreeObject(entry("100644", "a") + entry("40000", "a"), true).refused, "");
  const auto verdict = examineTreeObject(entry("100644", "A") + entry("100644", "a"), true);
  EXPECT_EQ(verdict.refused, "");
  ASSERT_EQ(verdict.collisions.size(), 1U);
  EXPECT_EQ(verdict.collisions[0], "a");
}

TEST(TreeRules, RefuseATreeCutAnywhere) {
  const auto whole = entry("100644", "name");
  for (std::size_t size = 1; size < whole.size(); ++size)
    EXPECT_NE(examineTreeObject(whole.substr(0, size), true).refused, "") << size;
}

TEST(ObjectReader, FindsTheSameObjectsHoweverTheBytesArrive) {
  const std::string text = std::string(40, 'a') + " tree 3\nx\ny\n" + std::string(40, 'b') + " commit 0\n\n";
  for (std::size_t step = 1; step <= text.size(); ++step) {
    std::string seen;
    ObjectReader reader(
        [&](std::string_view id, std::string_view type, std::string_view bytes) {
          seen.append(id.substr(0, 1)).append(type).append(bytes).append("|");
          return true;
        },
        100);
    for (std::size_t at = 0; at < text.size(); at += step)
      ASSERT_TRUE(reader.feed(std::string_view(text).substr(at, step)));
    EXPECT_TRUE(reader.whole());
    EXPECT_EQ(seen, "atreex\ny|bcommit|");
  }
}

TEST(ObjectReader, StopsAtAnObjectThatIsMissingOrTooLarge) {
  const auto take = [](std::string_view, std::string_view, std::string_view) { return true; };
  EXPECT_FALSE(ObjectReader(take, 10).feed(std::string(40, 'a') + " missing\n"));
  EXPECT_FALSE(ObjectReader(take, 10).feed(std::string(40, 'a') + " tree 11\n"));
  EXPECT_FALSE(ObjectReader(take, 10).feed(std::string(300, 'a')));
}

}  // namespace
}  // namespace coffer::repository
