#include "bench.hpp"

namespace coffer::repository {
namespace {

class Export : public Bench {};

TEST_F(Export, GivesTheHistoryOfHeadAndItsBranch) {
  inputs({"source=repo"});
  const auto report = worker("export", {});
  EXPECT_EQ(report.get("commit"), sh("git -C repo rev-parse HEAD")) << report.get("message") << report.get("fault");
  EXPECT_EQ(report.get("branch"), "refs/heads/main");
  EXPECT_EQ(report.number("objects"), 10U);
  EXPECT_EQ(report.number("bytes"), sh("stat -c %s " + out() + "/pack").empty() ? 0U : std::stoul(read("output")));
  EXPECT_EQ(sh("git init -q --bare new && cd new && git index-pack --stdin <" + out() +
               "/pack >/dev/null && git log --format=%s " + std::string(report.get("commit"))),
            "Second\nFirst");
}

TEST_F(Export, GivesOnlyWhatTheReceiverLacks) {
  const auto base = snapshot("repo");
  sh("cd repo && printf 'four\\n' >>file && git commit -q -a -m Third");
  inputs({"source=repo", "base=base"});
  const auto report = worker("export", request({{"have", base}, {"have", std::string(40, '1')}}));
  EXPECT_EQ(report.number("objects"), 3U) << report.get("message") << report.get("fault");
}

TEST_F(Export, ReadsPackedRefsDetachedHeadsAndNamedBranches) {
  sh("cd repo && git branch side HEAD~1 && git pack-refs --all && git gc -q");
  inputs({"source=repo"});
  EXPECT_EQ(worker("export", request({{"ref", "refs/heads/side"}})).get("commit"), sh("git -C repo rev-parse side"));
  sh("cd repo && git checkout -q --detach");
  const auto report = worker("export", {});
  EXPECT_EQ(report.get("commit"), sh("git -C repo rev-parse HEAD"));
  EXPECT_FALSE(report.has("branch"));
}

TEST_F(Export, SaysWhichPathsAreNotInHead) {
  sh("cd repo && printf 'x\\n' >>file && printf 'new' >new && printf 's' >staged && git add staged && rm sub/file && "
     "printf '*.o\\n' >.git/info/exclude && touch a.o && mkdir dir && touch 'dir/a b' && printf 'y' >\"$(printf "
     "'odd\\nname')\"");
  inputs({"source=repo"});
  const auto report = worker("export", request({{"status", "1"}}));
  std::string paths;
  for (const auto path : report.all("dirty"))
    paths.append(path).append("|");
  EXPECT_EQ(report.number("dirty-count"), 6U) << report.get("message") << report.get("fault");
  EXPECT_EQ(paths, "file|staged|sub/file|dir/|new|odd\nname|");
  EXPECT_EQ(sh("cd repo && git diff --cached --name-only"), "staged") << "the index is as it was";
}

TEST_F(Export, NothingOfTheOwnersRepositoryRunsForItsStatus) {
  sh("cd repo && git config core.fsmonitor \"touch $TOP/ran; false\" && echo '* filter=evil' >.gitattributes && "
     "git config filter.evil.clean \"touch $TOP/ran; cat\" && printf '#!/bin/sh\\ntouch '$TOP'/ran\\n' "
     ">.git/hooks/post-index-change && "
     "chmod +x .git/hooks/post-index-change && touch -d @1 file sub/file && cp -a . ../control && git -C ../control "
     "status >/dev/null");
  ASSERT_TRUE(exists("ran")) << "the control shows nothing";
  sh("rm ran");
  inputs({"source=repo"});
  const auto report = worker("export", request({{"status", "1"}}));
  EXPECT_EQ(report.get("dirty"), ".gitattributes") << report.get("message") << report.get("fault");
  EXPECT_EQ(report.number("dirty-count"), 1U);
  EXPECT_FALSE(exists("ran"));
}

TEST_F(Export, ReadsALinkedWorktreeThroughItsTwoDirectories) {
  sh("git -C repo worktree add -q -b side ../linked HEAD~1 && git -C repo worktree add -q -b third ../third && cd "
     "linked "
     "&& printf 'x\\n' >>file && git -C ../repo pack-refs --all");
  inputs({"source=linked", "source-common=repo/.git", "source-own=repo/.git/worktrees/linked"});
  const auto report = worker("export", request({{"status", "1"}}));
  EXPECT_EQ(report.get("commit"), sh("git -C repo rev-parse side")) << report.get("message") << report.get("fault");
  EXPECT_EQ(report.get("branch"), "refs/heads/side");
  EXPECT_EQ(report.get("dirty"), "file");
  EXPECT_EQ(report.number("dirty-count"), 1U);
  // What was opened is not what the file names any more.
  inputs({"source=linked", "source-common=repo/.git", "source-own=repo/.git/worktrees/third"});
  EXPECT_EQ(worker("export", {}).get("refused"), "RepositoryUnsupported");
  // An agent's clone is never one, whatever stands beside it.
  inputs({"source=linked", "source-common=repo/.git", "source-own=repo/.git/worktrees/linked"});
  EXPECT_EQ(worker("export", request({{"agent", "1"}})).get("refused"), "RepositoryUnsupported");
}

TEST_F(Export, RefusesWithTheReason) {
  struct Case {
    const char* script;
    const char* code;
    const char* words;
  };
  const Case cases[] = {
      {"mkdir x", "NoRepository", "no .git"},
      {"git init -q x", "NoCommit", "no commit"},
      {"git init -q --bare x", "RepositoryUnsupported", "bare"},
      {"git -C repo worktree add -q ../x", "RepositoryUnsupported", "no linked worktree"},
      {"mkdir x && echo 'gitdir: ../repo/.git' >x/.git", "RepositoryUnsupported", "no linked worktree"},
      {"git clone -q --depth 1 file://$TOP/repo x", "RepositoryUnsupported", "shallow"},
      {"git clone -q --shared repo x", "RepositoryUnsupported", "borrows"},
      {"git -C repo config uploadpack.allowFilter true; git clone -q --filter=blob:none file://$TOP/repo x",
       "RepositoryUnsupported", "partial"},
      {"git init -q --object-format=sha256 x && cd x && git commit -q --allow-empty -m A", "RepositoryUnsupported",
       "SHA-256"},
      {"git init -q --ref-format=reftable x && cd x && git commit -q --allow-empty -m A", "RepositoryUnsupported",
       "reftable"},
      {"git clone -q repo x && cd x && echo '*.bin filter=lfs' >.gitattributes && git add . && git commit -q -m A",
       "RepositoryUnsupported", "LFS"},
      {"mkdir x && ln -s ../repo/.git x/.git", "RepositoryUnsupported", "symbolic link"},
      {"git clone -q repo x && echo 'ref: refs/heads/../../x' >x/.git/HEAD", "RepositoryUnsupported", "HEAD"},
      {"git clone -q repo x && rm -rf x/.git/objects/pack x/.git/objects/??", "RepositoryUnsupported", "not among"},
      {"git clone -q repo x && rm -rf x/.git/objects/pack && ln -s /etc x/.git/objects/pack", "RepositoryUnsupported",
       "no directory"},
      {"git clone -q repo x && rm -rf x/.git/objects/00 && mkdir x/.git/objects/00 && mkfifo x/.git/objects/00/11",
       "RepositoryUnsupported", "no file"},
  };
  for (const auto& one : cases) {
    sh(std::string("rm -rf x; git -C repo worktree prune; ") + one.script);
    inputs({"source=x"});
    const auto report = worker("export", {});
    EXPECT_EQ(report.get("refused"), one.code) << one.script << report.get("fault");
    EXPECT_NE(report.get("message").find(one.words), std::string_view::npos)
        << one.script << ": " << report.get("message");
  }
}

}  // namespace
}  // namespace coffer::repository
