#include "bench.hpp"

namespace coffer::repository {
namespace {

/// A person's linked worktree on the branch "side", its repository checked out on "main", and a candidate for "side".
class LandLinked : public Bench {
 protected:
  LandLinked() {
    sh("git -C repo worktree add -q -b side ../linked && git clone -q -b side repo work && cd work && echo changed "
       ">file && git rm -q sub/file && mkdir new && echo new >new/file && git add -A && git commit -q -m Work");
    old_ = sh("git -C repo rev-parse side");
    new_ = sh("git -C work rev-parse HEAD");
    name_ = sh("cd work && mkdir $TOP/pack && printf '%s\\n^%s\\n' " + new_ + " " + old_ +
               " | git pack-objects --revs -q $TOP/pack/pack && cd $TOP/pack && mv *.pack pack && mv *.idx idx");
    sh("echo mine >linked/tool && echo main >repo/tool && mkdir template && cp -a repo linked template");
    main_ = mainState();
  }
  void restore() { sh("rm -rf repo linked && cp -a template/repo template/linked ."); }

  Records land(const std::string& branch = "refs/heads/side", const std::string& options = {}) {
    inputs({"source=linked", "source-common=repo/.git", "source-own=repo/.git/worktrees/linked", "pack=pack"});
    return worker("land",
                  request({{"branch", branch},
                           {"old", old_},
                           {"new", new_},
                           {"name", name_},
                           {"step", "17-land"},
                           {"who", "Ada Person <ada@example.org>"},
                           {"when", "1700000001 +0100"},
                           {"note", "Coffer-Gate: run 5\n"}}),
                  options);
  }
  /// The main worktree: its branch, index, logs and files.
  std::string mainState() {
    return sh(
        "cd repo && git rev-parse main && cat .git/HEAD .git/logs/HEAD && sha1sum .git/index && git status "
        "--porcelain && cat file sub/file tool");
  }
  void expectLanded() {
    EXPECT_EQ(sh("git -C linked rev-parse HEAD side && git -C linked symbolic-ref HEAD"),
              new_ + "\n" + new_ + "\nrefs/heads/side");
    EXPECT_EQ(sh("git -C linked status --porcelain"), " M tool");
    EXPECT_EQ(sh("cd linked && cat file new/file tool && ls -d sub || true"), "changed\nnew\nmine");
    EXPECT_EQ(sh("git -C linked log -g -1 --format=%gs HEAD && git -C repo log -g -1 --format=%gs side"),
              "coffer: landed\ncoffer: landed");
    EXPECT_EQ(sh("find repo linked -name '*coffer-land*' -o -name '*.lock' -o -name 'tmp_*'"), "");
    EXPECT_EQ(sh("git -C repo fsck --strict 2>&1; git -C repo notes --ref=cofferdam show " + new_),
              "Coffer-Gate: run 5");
    EXPECT_EQ(mainState(), main_);
  }

  std::string old_, new_, name_, main_;
};

TEST_F(LandLinked, LandsThereAndNotInTheMainWorktree) {
  const auto report = land();
  EXPECT_EQ(report.get("landed"), new_) << report.get("message") << report.get("fault");
  EXPECT_EQ(report.number("checked-out"), 1U);
  expectLanded();
  EXPECT_EQ(land().number("again"), 1U);
  expectLanded();
}

TEST_F(LandLinked, KilledBetweenAnyTwoWritesItIsFinishedByTheSameStep) {
  int point = 1;
  for (;; ++point) {
    ASSERT_LT(point, 100);
    restore();
    const auto killed = land("refs/heads/side", "--stop-after " + std::to_string(point));
    if (!killed.has("fault")) break;
    const auto report = land();
    EXPECT_EQ(report.get("landed"), new_) << point << report.get("message") << report.get("fault");
    expectLanded();
    if (HasFailure()) FAIL() << "killed before write " << point;
  }
  EXPECT_GT(point, 12) << "every write has its point";
}

TEST_F(LandLinked, RefusesTheBranchOfAnotherWorktree) {
  const auto report = land("refs/heads/main");
  EXPECT_EQ(report.get("refused"), "WrongState") << report.get("fault");
  EXPECT_NE(report.get("message").find("main worktree"), std::string_view::npos);
  EXPECT_EQ(mainState(), main_);
  sh("git -C repo checkout -q -b aside && git -C repo worktree add -q ../third main");
  EXPECT_NE(land("refs/heads/main").get("message").find("worktree third"), std::string_view::npos);
  EXPECT_EQ(sh("git -C repo rev-parse main"), old_);
}

TEST_F(LandLinked, ABareRepositorysHeadIsNobodys) {
  sh("git clone -q --bare repo bare && rm -rf repo linked && mkdir repo && mv bare repo/.git && git -C repo/.git "
     "worktree add -q ../../linked side");
  EXPECT_EQ(land("refs/heads/main").get("landed"), new_);
  EXPECT_EQ(sh("git -C repo/.git rev-parse main side"), new_ + "\n" + old_);
}

TEST_F(LandLinked, RefusesWhatStandsInTheWayOfItsSpareFile) {
  sh("echo mine >linked/.coffer-land-17-land");
  EXPECT_EQ(land().get("refused"), "WrongState");
  EXPECT_EQ(read("linked/.coffer-land-17-land"), "mine\n");
  EXPECT_EQ(sh("git -C repo rev-parse side"), old_);
}

TEST_F(LandLinked, DirtyFilesThereStayAndThoseOfTheMainWorktreeDoNotMatter) {
  sh("echo mine >linked/file");
  const auto report = land();
  EXPECT_EQ(report.get("refused"), "Dirty") << report.get("fault");
  EXPECT_EQ(read("linked/file"), "mine\n");
  sh("git -C linked checkout -q -- file && echo more >repo/file");
  EXPECT_EQ(land().get("landed"), new_);
  EXPECT_EQ(read("repo/file"), "more\n");
}

}  // namespace
}  // namespace coffer::repository
