#include "bench.hpp"

namespace coffer::repository {
namespace {

/// A person's checkout, a candidate made on top of its HEAD elsewhere, and the pack of it.
class Land : public Bench {
 protected:
  Land() {
    sh("cd repo && mkdir -p gone/deep && echo gone >gone/deep/file && mkdir dir && echo below >dir/below && echo top "
       ">top && "
       "echo mine >mine && chmod 664 file && git add -A && git commit -q -m Third");
    old_ = sh("git -C repo rev-parse HEAD");
    sh("git clone -q repo work && cd work && echo changed >file && chmod +x file && rm -r gone && rm -r dir && echo "
       "now-a-file >dir && "
       "rm top && mkdir top && echo inside >top/inside && ln -sf tool link && mkdir -p new/deep && echo new "
       ">new/deep/file && "
       "git add -A && git commit -q -m Work && git gc -q");
    new_ = sh("git -C work rev-parse HEAD");
    name_ = sh("cd work && mkdir $TOP/pack && printf '%s\\n^%s\\n' " + new_ + " " + old_ +
               " | git pack-objects --revs -q $TOP/pack/pack && cd $TOP/pack && mv *.pack pack && mv *.idx idx");
    sh("echo edited-but-not-landed >repo/mine && echo untracked >repo/untracked && cp -a repo template");
  }

  Records landing(const std::string& branch = "refs/heads/main", const std::string& from = {}) {
    return request({{"branch", branch},
                    {"old", from.empty() ? old_ : from},
                    {"new", new_},
                    {"name", name_},
                    {"step", "17-land"},
                    {"who", "Ada Person <ada@example.org>"},
                    {"when", "1700000001 +0100"},
                    {"note", "Coffer-Gate: run 5\n"}});
  }
  Records land(const Records& records, const std::string& options = {}) {
    inputs({"source=repo", "pack=pack"});
    return worker("land", records, options);
  }
  void restore() { sh("rm -rf repo && cp -a template repo"); }

  /// Everything of the checkout and its refs as text; what differs between two of these has changed.
  std::string state() {
    return sh(
        "cd repo && git for-each-ref && git symbolic-ref HEAD && git status --porcelain && ls -A .git | grep -e coffer "
        "|| true; "
        "find .git -name '*.lock' | sort; "
        "find . -name .git -prune -o \\( -type f -o -type l \\) -printf '%p %M %l ' -exec cat {} \\; | sort");
  }
  void expectLanded() {
    EXPECT_EQ(sh("git -C repo rev-parse refs/heads/main HEAD"), new_ + "\n" + new_);
    EXPECT_EQ(sh("git -C repo status --porcelain"), " M mine\n?? untracked");
    EXPECT_EQ(sh("cd repo && cat file dir top/inside new/deep/file mine && readlink link && ls -d gone || true"),
              "changed\nnow-a-file\ninside\nnew\nedited-but-not-landed\ntool");
    EXPECT_EQ(
        sh("ls -A repo repo/.git | grep -e lock -e coffer || true; find repo/.git -name '*.lock' -o -name 'tmp_*'"),
        "");
    EXPECT_EQ(sh("git -C repo fsck --strict 2>&1 && git -C repo log -g -1 --format='%H %gn %gs' main"),
              new_ + " Ada Person coffer: landed");
    EXPECT_EQ(sh("cd repo && git notes --ref=cofferdam show " + new_ + " && git rev-list --count refs/notes/cofferdam"),
              "Coffer-Gate: run 5\n1");
  }

  std::string old_, new_, name_;
};

TEST_F(Land, PutsTheCommitOnTheCheckedOutBranchWithFilesAndIndex) {
  const auto report = land(landing());
  EXPECT_EQ(report.get("landed"), new_) << report.get("message") << report.get("fault");
  EXPECT_EQ(report.number("checked-out"), 1U);
  expectLanded();
  EXPECT_EQ(sh("stat -c %A repo/file"), "-rwxrwxr-x") << "a person's permissions stay, the program bit comes";
  const auto again = land(landing());
  EXPECT_EQ(again.number("again"), 1U) << again.get("message") << again.get("fault");
  expectLanded();
}

TEST_F(Land, MakesABranchThatIsNotCheckedOutAndTouchesNoFile) {
  const auto before = sh("cd repo && ls -lR --time-style=full-iso . && sha1sum .git/index");
  const auto report = land(landing("refs/heads/coffer/17", std::string(40, '0')));
  EXPECT_EQ(report.get("landed"), new_) << report.get("message") << report.get("fault");
  EXPECT_EQ(sh("git -C repo rev-parse refs/heads/coffer/17 HEAD"), new_ + "\n" + old_);
  EXPECT_EQ(sh("cd repo && ls -lR --time-style=full-iso . && sha1sum .git/index"), before);
  EXPECT_EQ(land(landing("refs/heads/coffer/17", std::string(40, '0'))).number("again"), 1U);
}

TEST_F(Land, MovesAPackedBranch) {
  sh("cd repo && git branch side && git pack-refs --all");
  EXPECT_EQ(land(landing("refs/heads/side")).get("landed"), new_);
  EXPECT_EQ(sh("git -C repo rev-parse side main"), new_ + "\n" + old_);
}

TEST_F(Land, RefusesWhatStandsInTheWayOfItsSpareFile) {
  const auto before = state();
  sh("echo mine >repo/.coffer-land-17-land");
  EXPECT_EQ(land(landing()).get("refused"), "WrongState");
  EXPECT_EQ(read("repo/.coffer-land-17-land"), "mine\n");
  sh("rm repo/.coffer-land-17-land");
  EXPECT_EQ(state(), before);
}

TEST_F(Land, RefusesACommitWithPathsWhereItWrites) {
  for (const auto* path : {".coffer-land-17-land", ".coffer-land-17-land/file"}) {
    restore();
    sh("cd work && git reset -q --hard " + old_ + " && mkdir -p $(dirname " + path + ") && echo x >" + path +
       " && git add -A && git commit -q -m Odd");
    new_ = sh("git -C work rev-parse HEAD");
    name_ = sh("rm -rf $TOP/pack && cd work && mkdir $TOP/pack && printf '%s\\n^%s\\n' " + new_ + " " + old_ +
               " | git pack-objects --revs -q $TOP/pack/pack && cd $TOP/pack && mv *.pack pack && mv *.idx idx");
    const auto before = state();
    EXPECT_EQ(land(landing()).get("refused"), "RepositoryUnsupported") << path;
    EXPECT_EQ(state(), before) << path;
  }
}

TEST_F(Land, NothingOfTheRepositoryRuns) {
  sh("cd repo && mkdir .husky && for hook in pre-commit post-commit post-checkout post-merge post-index-change "
     "reference-transaction "
     "post-rewrite pre-auto-gc; do for at in .husky .git/hooks; do printf '#!/bin/sh\\ntouch '$TOP'/ran\\n' "
     ">$at/$hook; "
     "chmod +x $at/$hook; done; done; git config core.hooksPath .husky; git config core.fsmonitor \"touch $TOP/ran; "
     "false\"; "
     "echo '* filter=evil' >.git/info/attributes; git config filter.evil.clean \"touch $TOP/ran; cat\"; "
     "git config filter.evil.smudge \"touch $TOP/ran; cat\"; git config gc.auto 1");
  sh("cp -a repo control && cd control && git pull -q --ff-only ../work main");
  ASSERT_TRUE(exists("ran")) << "the control shows nothing";
  sh("rm ran");
  const auto before = sh("cd repo/.git && find hooks config info -type f -exec sha1sum {} +");
  const auto report = land(landing());
  EXPECT_EQ(report.get("landed"), new_) << report.get("message") << report.get("fault");
  EXPECT_FALSE(exists("ran"));
  EXPECT_EQ(sh("cd repo/.git && find hooks config info -type f -exec sha1sum {} +"), before);
}

TEST_F(Land, RefusesAndChangesNothing) {
  struct Case {
    const char* script;
    const char* code;
    const char* words;
  };
  const Case cases[] = {
      {"echo x >>file", "Dirty", "\n  file"},
      {"echo x >file && git add file && git show HEAD:file >file", "Dirty", "\n  file"},
      {"rm gone/deep/file", "Dirty", "\n  gone/deep/file"},
      {"chmod +x file", "Dirty", "\n  file"},
      {"echo changed >file && chmod +x file", "Dirty", "\n  file"},
      {"mkdir -p new/deep && echo mine >new/deep/file", "Dirty", "\n  new/deep/file"},
      {"echo mine >new", "Dirty", "\n  new/deep/file"},
      {"mkdir $TOP/outside; ln -s $TOP/outside new", "Dirty", "\n  new/deep/file"},
      {"echo mine >dir/other", "Dirty", "\n  dir"},
      {"rm link && ln -s elsewhere link", "Dirty", "\n  link"},
      {"git commit -q --allow-empty -m Moved", "Stale", "moved"},
      {"touch .git/index.lock", "Busy", "index.lock"},
      {"mkdir -p .git/refs/heads && touch .git/refs/heads/main.lock", "Busy", "locked"},
      {"touch .git/MERGE_HEAD", "WrongState", "merge"},
      {"git checkout -q -b x && git worktree add -q ../linked main && git checkout -q x", "WrongState", "worktree"},
      {"mv .git ../moved.git && ln -s ../moved.git .git", "RepositoryUnsupported", "link"},
      {"mv .git/refs ../refs && ln -s $TOP/refs .git/refs", "RepositoryUnsupported", "refs/heads"},
      {"mv .git/objects/pack ../packs && ln -s $TOP/packs .git/objects/pack", "RepositoryUnsupported", "objects/pack"},
  };
  for (const auto& one : cases) {
    sh("rm -rf linked moved.git refs packs outside");
    restore();
    sh(std::string("cd repo && ") + one.script);
    const auto before = state();
    const char* packs = "ls repo/.git/objects/pack 2>/dev/null || true";
    const auto packed = sh(packs);
    const auto report = land(landing());
    EXPECT_EQ(report.get("refused"), one.code) << one.script << report.get("fault");
    EXPECT_NE(report.get("message").find(one.words), std::string_view::npos)
        << one.script << ": " << report.get("message");
    EXPECT_EQ(state(), before) << one.script;
    if (std::string_view(one.code) == "Dirty") {
      EXPECT_EQ(sh(packs), packed) << one.script;
    }
    EXPECT_EQ(sh("ls outside 2>/dev/null || true"), "");
  }
}

TEST_F(Land, NotesWhatWasDecidedBesideWhatIsNoted) {
  sh("cd repo && git notes --ref=cofferdam add -m Mine HEAD && git pack-refs --all && git notes add -m Other HEAD");
  const auto report = land(landing());
  EXPECT_FALSE(report.has("not-noted")) << report.get("not-noted");
  EXPECT_EQ(
      sh("cd repo && git notes --ref=cofferdam show HEAD && git notes --ref=cofferdam show HEAD^ && git notes show "
         "HEAD^ && git log -1 --format='%an %ad|%s' --date=raw refs/notes/cofferdam && git fsck --strict 2>&1"),
      "Coffer-Gate: run 5\nMine\nOther\nAda Person 1700000001 +0100|Notes added by coffer");
  const auto notes = sh("git -C repo rev-parse refs/notes/cofferdam");
  EXPECT_EQ(land(landing()).number("again"), 1U);
  EXPECT_EQ(sh("git -C repo rev-parse refs/notes/cofferdam"), notes);
}

TEST_F(Land, LandsWhatCannotBeNoted) {
  sh("cd repo && mkdir -p .git/refs/notes && touch .git/refs/notes/cofferdam.lock");
  const auto report = land(landing());
  EXPECT_EQ(report.get("landed"), new_) << report.get("message") << report.get("fault");
  EXPECT_NE(report.get("not-noted").find("locked"), std::string_view::npos);
  EXPECT_EQ(sh("git -C repo rev-parse main"), new_);
}

TEST_F(Land, MovesABranchOfOursAndNoOther) {
  const std::string branch = "refs/heads/coffer/x";
  const auto ours = [&](const std::string& left) {
    auto records = landing(branch, left);
    records.add("create", 1);
    return land(records);
  };
  const auto other = sh("git -C repo rev-parse HEAD~1");
  EXPECT_EQ(ours(std::string(40, '0')).get("landed"), new_) << "it is made";
  sh("git -C repo update-ref refs/heads/coffer/x " + other);
  EXPECT_EQ(ours(old_).get("refused"), "Stale") << "it is not where we left it";
  EXPECT_EQ(ours(std::string(40, '0')).get("refused"), "NameTaken") << "we never made it";
  EXPECT_EQ(sh("git -C repo rev-parse coffer/x"), other);
  EXPECT_EQ(ours(other).get("landed"), new_) << "it is where we left it";
  EXPECT_EQ(sh("git -C repo rev-parse coffer/x"), new_);
  sh("git -C repo update-ref -d refs/heads/coffer/x");
  EXPECT_EQ(ours(other).get("landed"), new_) << "it was removed";
  sh("git -C repo update-ref refs/heads/coffer/x " + other + " && git -C repo worktree add -q ../linked coffer/x");
  EXPECT_EQ(ours(other).get("refused"), "WrongState") << "somebody works on it";
  EXPECT_EQ(sh("git -C repo rev-parse coffer/x"), other);
}

TEST_F(Land, RefusesABranchThatCannotBeBesideOthers) {
  EXPECT_EQ(land(landing("refs/heads/main/x", std::string(40, '0'))).get("refused"), "NameTaken");
  EXPECT_EQ(land(landing("refs/heads/main", std::string(40, '0'))).get("refused"), "NameTaken");
  sh("cd repo && git branch a/b && git pack-refs --all");
  EXPECT_EQ(land(landing("refs/heads/a", std::string(40, '0'))).get("refused"), "NameTaken");
  EXPECT_EQ(land(landing("refs/heads/../x")).get("refused"), "InvalidArgument");
}

TEST_F(Land, KilledBetweenAnyTwoWritesItIsFinishedByTheSameStep) {
  int point = 1;
  for (;; ++point) {
    ASSERT_LT(point, 100);
    restore();
    const auto killed = land(landing(), "--stop-after " + std::to_string(point));
    if (!killed.has("fault")) break;
    const auto report = land(landing());
    EXPECT_EQ(report.get("landed"), new_) << point << report.get("message") << report.get("fault");
    expectLanded();
    if (HasFailure()) FAIL() << "killed before write " << point;
  }
  EXPECT_GT(point, 15) << "every write has its point";
  expectLanded();
}

// Each with a little more room than the last, from none to enough: whole, or as it was.
TEST_F(Land, AFullDiskLandsWholeOrNotAtAll) {
  sh("mkdir small && mount -t tmpfs -o size=16m small small && mv repo small/repo && ln -s small/repo repo");
  int refused = 0;
  for (int room = 0;; room += 16) {
    sh("rm -rf small/repo && cp -a template small/repo");
    const auto before = state();
    sh("head -c $(($(stat -f -c '%f * %S' small) - " + std::to_string(room) + " * 1024)) /dev/zero >small/full");
    const auto report = land(landing());
    // Who looks needs room as well: git status refreshes the index.
    sh("rm small/full");
    if (report.has("landed")) break;
    ++refused;
    EXPECT_EQ(report.get("refused"), "NoSpace") << room << " KiB: " << report.get("message") << report.get("fault");
    EXPECT_EQ(state(), before) << room << " KiB";
    EXPECT_EQ(sh("find repo/ -name 'tmp_*'"), "");
    if (HasFailure() || room > 8192) break;
  }
  EXPECT_EQ(land(landing()).get("landed"), new_);
  expectLanded();
  EXPECT_GT(refused, 10);
  sh("umount small");
}

TEST_F(Land, WhatLandedAndWasGoneOnFromIsNotLandedAgain) {
  int after = 0;
  for (int point = 1;; ++point) {
    restore();
    const auto killed = land(landing(), "--stop-after " + std::to_string(point));
    if (killed.has("fault") && sh("git -C repo rev-parse main") != new_) continue;
    ++after;
    sh("cd repo && rm -f .git/refs/heads/main.lock && git update-ref refs/heads/main "
       "$(git commit-tree -p main -m 'Going on' main^{tree}) && echo 'edited since' >file");
    const auto before = sh("cd repo && git rev-parse main && cat file dir top/inside mine && git ls-files -s");
    const auto report = land(landing());
    EXPECT_EQ(report.number("again"), 1U) << point << report.get("message") << report.get("fault");
    EXPECT_EQ(report.get("landed"), new_);
    EXPECT_EQ(sh("cd repo && git rev-parse main && cat file dir top/inside mine && git ls-files -s"), before) << point;
    EXPECT_EQ(sh("ls -A repo repo/.git | grep -e lock -e coffer || true; find repo/.git -name '*.lock'"), "") << point;
    if (!killed.has("fault")) break;
  }
  EXPECT_GT(after, 2) << "killed between the branch and the end";
}

TEST_F(Land, KilledAndThenEditedItPutsEverythingElseBack) {
  for (int point = 1;; ++point) {
    restore();
    const auto before = state();
    const auto killed = land(landing(), "--stop-after " + std::to_string(point));
    if (!killed.has("fault")) break;
    if (sh("git -C repo rev-parse main") == new_) break;  // the last act is done
    sh("rm -rf repo/file && echo 'edited since' >repo/file");
    const auto report = land(landing());
    EXPECT_EQ(report.get("refused"), "Dirty") << point << report.get("fault");
    EXPECT_EQ(read("repo/file"), "edited since\n");
    sh("cd repo && git checkout -q -- file && chmod 664 file");
    EXPECT_EQ(state(), before) << point;
    if (HasFailure()) FAIL() << "killed before write " << point;
  }
}

TEST_F(Land, KilledAndThenOvertakenItPutsEverythingBack) {
  for (int point = 1;; ++point) {
    restore();
    const auto before = sh("cd repo && cat file dir/below top mine; git ls-files -s");
    const auto killed = land(landing(), "--stop-after " + std::to_string(point));
    if (!killed.has("fault")) break;
    if (sh("git -C repo rev-parse main") == new_) break;
    sh("rm -f repo/.git/refs/heads/main.lock && cd repo && git update-ref refs/heads/main HEAD~1");
    const auto report = land(landing());
    EXPECT_EQ(report.get("refused"), "Stale") << point << report.get("fault") << report.get("message");
    EXPECT_EQ(sh("cd repo && cat file dir/below top mine; git ls-files -s"), before) << point;
    EXPECT_EQ(sh("ls -A repo/.git | grep coffer || true; find repo/.git -name '*.lock'"), "");
    if (HasFailure()) FAIL() << "killed before write " << point;
  }
}

}  // namespace
}  // namespace coffer::repository
