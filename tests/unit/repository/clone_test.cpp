// Law 1: nothing that is planted in a clone takes effect. Each row first shows, with plain git, that the planted thing
// would run or change what is read; then the worker reads the same clone and gets the objects as they are.

#include <functional>
#include <vector>

#include "bench.hpp"

namespace coffer::repository {
namespace {

std::uint32_t big32(const std::string& text, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i)
    value = value << 8 | static_cast<unsigned char>(text[at + i]);
  return value;
}

/// The offset of a chunk in a commit-graph ("CDAT") or multi-pack-index ("OOFF"); their tables differ in where they
/// begin.
std::size_t chunk(const std::string& text, std::size_t table, std::string_view name) {
  for (std::size_t at = table; at + 12 <= text.size(); at += 12)
    if (text.compare(at, 4, name) == 0) return big32(text, at + 8);
  return 0;
}

class Clone : public Bench {
 protected:
  Clone() {
    sh("git clone -q repo clone && cd clone && printf 'work\\n' >>file && git commit -q -a -m Work");
    sh("git init -q other && cd other && printf 'secret\\n' >secret && git add . && git commit -q -m Other");
    commit_ = sh("git -C clone rev-parse HEAD");
    other_ = sh("git -C other rev-parse HEAD");
  }

  /// What a person's project would be told of it, with its status, for which every file is compared. Returns how many
  /// paths are not committed.
  std::uint64_t expectStatusRunsNothing() {
    sh("rm -f ran && touch -d '1 hour ago' clone/file");
    inputs({"source=clone"});
    const auto told = worker("export", request({{"status", "1"}}));
    EXPECT_EQ(told.get("commit"), commit_) << told.get("message") << told.get("fault");
    EXPECT_TRUE(told.has("dirty-count"));
    EXPECT_FALSE(exists("ran")) << "something planted ran for the status";
    return told.number("dirty-count");
  }

  /// What the two runs of the worker get out of the clone: the commit and how many commits it has.
  void expectAsCommitted() {
    sh("rm -f ran");
    inputs({"source=clone"});
    const auto exported = worker("export", request({{"agent", "1"}}));
    ASSERT_EQ(exported.get("commit"), commit_) << exported.get("message") << exported.get("fault");
    inputs({"pack=" + out()});
    const auto imported = worker("import", request({{"agent", "1"}, {"commit", commit_}}));
    EXPECT_EQ(imported.number("commits"), 3U) << imported.get("message") << imported.get("fault");
    EXPECT_EQ(
        imported.get("tree"),
        sh("git -C repo rev-parse HEAD:sub >/dev/null; GIT_NO_REPLACE_OBJECTS=1 git --git-dir=new.git init -q "
           "--bare; cp -r " +
           out() + "/objects/pack/* new.git/objects/pack/; git --git-dir=new.git rev-parse '" + commit_ + "^{tree}'"));
    sh("mkdir -p task && rm -rf task/objects && mv " + out() + "/objects task/objects");
    inputs({"task=task"});
    const auto checkedOut = worker("checkout", request({{"commit", commit_}, {"branch", "refs/heads/main"}}));
    EXPECT_FALSE(checkedOut.has("refused") || checkedOut.has("fault")) << checkedOut.get("fault");
    EXPECT_EQ(read(out() + "/tree/file"), "one\nthree\nwork\n");
    EXPECT_FALSE(exists("ran")) << "something planted ran";
  }

  std::string commit_;
  std::string other_;
};

TEST_F(Clone, HooksDoNotRun) {
  sh("cd clone/.git/hooks && for hook in reference-transaction post-checkout post-index-change pre-commit post-rewrite "
     "pre-auto-gc; do "
     "printf '#!/bin/sh\\ntouch '$TOP'/ran\\n' >$hook; chmod +x $hook; done");
  sh("git -C clone checkout -q -b x && git -C clone checkout -q main && git -C clone branch -q -D x");
  ASSERT_TRUE(exists("ran")) << "the control shows nothing";
  expectAsCommitted();
  EXPECT_EQ(expectStatusRunsNothing(), 0U);
}

TEST_F(Clone, HooksByConfiguredPathDoNotRun) {
  sh("mkdir clone/.husky && for hook in post-checkout post-index-change; do printf '#!/bin/sh\\ntouch '$TOP'/ran\\n' "
     ">clone/.husky/$hook; done && chmod +x clone/.husky/* && "
     "git -C clone config core.hooksPath $TOP/clone/.husky && git -C clone checkout -q main");
  ASSERT_TRUE(exists("ran"));
  expectAsCommitted();
  EXPECT_EQ(expectStatusRunsNothing(), 1U);
}

TEST_F(Clone, FsmonitorDoesNotRun) {
  sh("git -C clone config core.fsmonitor \"touch $TOP/ran; false\" && git -C clone status >/dev/null");
  ASSERT_TRUE(exists("ran"));
  expectAsCommitted();
  EXPECT_EQ(expectStatusRunsNothing(), 0U);
}

TEST_F(Clone, FiltersDoNotRun) {
  sh("cd clone && echo '* filter=evil' >.git/info/attributes && git config filter.evil.smudge \"touch $TOP/ran; cat\" "
     "&& "
     "git config filter.evil.clean \"touch $TOP/ran; cat\" && git config filter.evil.process \"touch $TOP/ran; false\" "
     "&& "
     "rm file && { git checkout -q -- file || true; }; git config --unset filter.evil.process; git checkout -q -- "
     "file");
  ASSERT_TRUE(exists("ran"));
  expectAsCommitted();
  EXPECT_EQ(expectStatusRunsNothing(), 0U);
}

TEST_F(Clone, FiltersOfCommittedAttributesDoNotRun) {
  sh("cd clone && echo '* filter=evil' >.gitattributes && git add . && git commit -q --amend --no-edit && "
     "git config filter.evil.smudge \"touch $TOP/ran; cat\" && git config filter.evil.clean \"touch $TOP/ran; cat\" && "
     "rm file && git checkout -q -- file");
  ASSERT_TRUE(exists("ran"));
  commit_ = sh("git -C clone rev-parse HEAD");
  expectAsCommitted();
  EXPECT_EQ(expectStatusRunsNothing(), 0U);
}

TEST_F(Clone, IncludedConfigurationIsNotRead) {
  sh("printf '[core]\\n\\tfsmonitor = \"touch '$TOP'/ran; false\"\\n' >evil && git -C clone config include.path "
     "$TOP/evil && "
     "git -C clone status >/dev/null");
  ASSERT_TRUE(exists("ran"));
  expectAsCommitted();
  EXPECT_EQ(expectStatusRunsNothing(), 0U);
}

TEST_F(Clone, CommondirFileLeadsNowhere) {
  sh("echo ../../other/.git >clone/.git/commondir");
  ASSERT_EQ(sh("git -C clone rev-parse refs/heads/main"), other_);
  expectAsCommitted();
}

TEST_F(Clone, RedirectedGitfileIsRefused) {
  sh("mv clone/.git aside && echo 'gitdir: ../other/.git' >clone/.git");
  ASSERT_EQ(sh("git -C clone rev-parse HEAD"), other_);
  inputs({"source=clone"});
  EXPECT_EQ(worker("export", request({{"agent", "1"}})).get("refused"), "RepositoryUnsupported");
}

TEST_F(Clone, LinkedGitDirectoryIsRefused) {
  sh("mv clone/.git aside && ln -s ../other/.git clone/.git");
  ASSERT_EQ(sh("git -C clone rev-parse HEAD"), other_);
  inputs({"source=clone"});
  EXPECT_EQ(worker("export", request({{"agent", "1"}})).get("refused"), "RepositoryUnsupported");
}

TEST_F(Clone, LinkedRefIsNotFollowed) {
  // With the other's commit among the clone's own objects, so that a link that is followed would lead to it.
  sh("git -C clone fetch -q ../other HEAD && rm clone/.git/FETCH_HEAD");
  sh("cd clone/.git && rm refs/heads/main && ln -s ../../../../other/.git/refs/heads/main refs/heads/main");
  ASSERT_EQ(sh("git -C clone rev-parse HEAD"), other_);
  inputs({"source=clone"});
  EXPECT_EQ(worker("export", request({{"agent", "1"}})).get("refused"), "NoCommit");
}

TEST_F(Clone, AlternatesLendNothing) {
  sh("echo $TOP/other/.git/objects >clone/.git/objects/info/alternates && echo " + other_ +
     " >clone/.git/refs/heads/main");
  ASSERT_EQ(sh("git -C clone log -1 --format=%s"), "Other");
  inputs({"source=clone"});
  EXPECT_EQ(worker("export", request({{"agent", "1"}})).get("refused"), "NoCommit");
}

TEST_F(Clone, ReplaceRefsReplaceNothing) {
  sh("cd clone && git replace HEAD~1 $(git commit-tree -m Replaced HEAD^{tree})");
  ASSERT_EQ(sh("git -C clone rev-list --count HEAD"), "2");
  expectAsCommitted();
  sh("cd clone && git replace HEAD $(git commit-tree -m Replaced $(git mktree </dev/null))");
  ASSERT_NE(sh("git -C clone status --porcelain"), "");
  EXPECT_EQ(expectStatusRunsNothing(), 0U) << "compared with what replaces HEAD";
}

TEST_F(Clone, GraftsCutNothing) {
  sh("mkdir -p clone/.git/info && echo " + commit_ + " >clone/.git/info/grafts");
  ASSERT_EQ(sh("git -C clone rev-list --count HEAD 2>/dev/null"), "1");
  expectAsCommitted();
}

TEST_F(Clone, ShallowFileCutsNothing) {
  sh("echo " + commit_ + " >clone/.git/shallow");
  ASSERT_EQ(sh("git -C clone rev-list --count HEAD"), "1");
  expectAsCommitted();
}

TEST_F(Clone, CommitGraphIsNotBelieved) {
  sh("cd clone && git commit-graph write --reachable --no-progress && chmod u+w .git/objects/info/commit-graph");
  auto graph = read("clone/.git/objects/info/commit-graph");
  std::string tree;
  for (const auto hex = sh("git -C clone rev-parse HEAD^{tree}"); tree.size() < 20;)
    tree += static_cast<char>(std::stoi(hex.substr(tree.size() * 2, 2), nullptr, 16));
  const auto at = graph.find(tree, chunk(graph, 8, "CDAT"));
  ASSERT_NE(at, std::string::npos);
  graph.replace(at + 20, 4, std::string("\x70\0\0\0", 4));  // no parent
  write("clone/.git/objects/info/commit-graph", graph);
  ASSERT_EQ(sh("git -C clone rev-list --count HEAD"), "1");
  expectAsCommitted();
}

TEST_F(Clone, MultiPackIndexIsNotBelieved) {
  sh("cd clone && git repack -q -a -d && git multi-pack-index write --no-progress && chmod u+w "
     ".git/objects/pack/multi-pack-index");
  auto index = read("clone/.git/objects/pack/multi-pack-index");
  const auto names = chunk(index, 12, "OIDL");
  const auto offsets = chunk(index, 12, "OOFF");
  ASSERT_NE(offsets, 0U);
  for (std::size_t at = offsets + 8; at < offsets + (offsets - names) / 20 * 8; at += 8)
    index.replace(at + 4, 4, index, offsets + 4, 4);
  write("clone/.git/objects/pack/multi-pack-index", index);
  ASSERT_NE(status("git -C clone log --format=%s | grep -x First"), 0) << "the control reads right objects";
  expectAsCommitted();
}

TEST_F(Clone, WorktreeSettingLeadsNowhere) {
  sh("git -C clone config core.worktree $TOP/other");
  ASSERT_EQ(sh("cd clone/.git && git rev-parse --show-toplevel"), at("other"));
  expectAsCommitted();
  EXPECT_EQ(expectStatusRunsNothing(), 0U) << "the status is of another directory";
  EXPECT_EQ(sh("ls other && git -C other status --porcelain"), "secret");
}

}  // namespace
}  // namespace coffer::repository
