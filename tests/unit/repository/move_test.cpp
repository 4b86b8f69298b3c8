#include "bench.hpp"

namespace coffer::repository {
namespace {

/// Work that was verified on one commit of a person's branch, and a branch that is somewhere else by now.
class Move : public Bench {
 protected:
  Move() {
    sh("cd repo && for n in 1 2 3 4 5 6 7 8 9; do echo line $n; done >long && echo left >left && git add -A && git "
       "commit -q "
       "-m Long");
    base_ = snapshot("repo");
    sh("git clone -q repo clone");
  }

  /// The writer does something, and it comes in as a candidate on the base.
  void work(const std::string& script) {
    sh("cd clone && " + script + " && git add -A && git commit -q -m Work");
    writer_ = sh("git -C clone rev-parse HEAD");
    auto records = bring();
    candidate_ = records.get("candidate");
    ASSERT_EQ(candidate_.size(), 40U) << records.get("message") << records.get("fault");
    keep("task");
  }
  Records bring(const std::vector<std::string>& bases = {}) {
    inputs({"source=clone", "base=base"});
    auto records = request({{"agent", "1"},
                            {"commit", writer_},
                            {"author-name", "Ada Person"},
                            {"author-email", "ada@example.org"},
                            {"author-time", "1700000000 +0100"},
                            {"message", "Work on it\n\nCoffer-Task: 17"}});
    auto exporting = request({{"agent", "1"}, {"have", base_}});
    for (const auto& base : bases.empty() ? std::vector<std::string>{base_} : bases) {
      records.add("base", base);
      records.add("have", base);
      exporting.add("have", base);
    }
    const auto exported = worker("export", exporting);
    EXPECT_EQ(exported.get("commit"), writer_) << exported.get("message") << exported.get("fault");
    inputs({"pack=" + out(), "base=base", "task=task"});
    return worker("import", records);
  }
  /// The person does something, and it is taken into the project's store.
  void moveBranch(const std::string& script) {
    sh("cd repo && " + script);
    sh("mv base/objects before");
    tip_ = snapshot("repo");
    sh("cp -n before/pack/* base/objects/pack/ && rm -r before");
  }
  void keep(const std::string& store) {
    sh("mkdir -p " + store + "/objects/pack && cp -n " + out() + "/objects/pack/* " + store + "/objects/pack/");
  }
  Records move(const std::string& from = {}, const std::string& commit = {}) {
    inputs({"base=base", "task=task"});
    return worker("candidate", request({{"commit", commit.empty() ? candidate_ : commit},
                                        {"from", from.empty() ? base_ : from},
                                        {"base", tip_},
                                        {"author-name", "Ada Person"},
                                        {"author-email", "ada@example.org"},
                                        {"author-time", "1700000005 +0100"}}));
  }
  /// A bare repository over everything that is kept, as `git -C all`.
  void look() {
    sh("rm -rf all && git init -q --bare all && printf '%s\\n' $TOP/base/objects $TOP/task/objects "
       ">all/objects/info/alternates");
  }

  std::string base_, tip_, writer_, candidate_;
};

TEST_F(Move, DoesToTheBranchWhatTheWorkDidToItsBase) {
  work("sed -i 's/line 8/line eight/' long && echo new >new && git mv left right");
  moveBranch("sed -i 's/line 2/line two/' long && echo mine >mine && git add -A && git commit -q -m Mine");
  const auto report = move();
  const std::string moved(report.get("candidate"));
  ASSERT_EQ(moved.size(), 40U) << report.get("message") << report.get("fault");
  EXPECT_EQ(report.number("changed"), 4U) << "long, new, left, right";
  keep("task");
  look();
  EXPECT_EQ(sh("git -C all show " + moved + ":long | sed -n '2p;8p'"), "line two\nline eight");
  EXPECT_EQ(sh("git -C all ls-tree --name-only " + moved), "file\nlink\nlong\nmine\nnew\nright\nsub\ntool");
  EXPECT_EQ(sh("git -C all log -1 --format='%P|%an %ad|%B' --date=raw " + moved),
            tip_ + "|Ada Person 1700000005 +0100|Work on it\n\nCoffer-Task: 17")
      << "one commit, with the words of the one before";
  sh("git -C all fsck --connectivity-only " + moved);
  EXPECT_EQ(move().get("candidate"), moved) << "the same again";
}

TEST_F(Move, KeepsNoCommitOfAnotherTimeOfTheProject) {
  moveBranch("echo secret >secret && git add secret && git commit -q -m Secret && git tag secret");
  moveBranch("git reset -q --hard HEAD~1");
  work("git fetch -q $TOP/repo tag secret && git merge -q -s ours -m Quiet secret && echo one >one");
  inputs({"base=base", "task=task"});
  const auto report = worker("candidate", request({{"commit", writer_},
                                                   {"from", base_},
                                                   {"base", base_},
                                                   {"second", writer_},
                                                   {"known", base_},
                                                   {"message", "Work on it"},
                                                   {"author-name", "Ada Person"},
                                                   {"author-email", "ada@example.org"},
                                                   {"author-time", "1700000005 +0100"}}));
  EXPECT_EQ(report.get("refused"), "WrongState") << report.get("fault");
  EXPECT_NE(report.get("message").find(sh("git -C repo rev-parse --short=12 secret")), std::string_view::npos)
      << report.get("message");
}

TEST_F(Move, KeepsTheWritersCommitsBesideTheBranch) {
  const auto keeping = [&](const std::string& base, const std::string& from) {
    inputs({"base=base", "task=task"});
    return worker("candidate", request({{"commit", writer_},
                                        {"from", from},
                                        {"base", base},
                                        {"second", writer_},
                                        {"known", base_},
                                        {"message", "Work on it"},
                                        {"author-name", "Ada Person"},
                                        {"author-email", "ada@example.org"},
                                        {"author-time", "1700000005 +0100"}}));
  };
  sh("cd clone && echo one >one && git add one && git commit -q -m One");
  work("echo two >two");
  const auto report = keeping(base_, base_);
  const std::string made(report.get("candidate"));
  ASSERT_EQ(made.size(), 40U) << report.get("message") << report.get("fault");
  keep("task");
  look();
  EXPECT_EQ(
      sh("git -C all log -1 --format='%P|%T|%an' " + made + "; git -C all log --first-parent --format=%s " + made),
      base_ + " " + writer_ + "|" + sh("git -C clone rev-parse HEAD^{tree}") +
          "|Ada Person\nWork on it\nLong\nSecond\nFirst");
  inputs({"base=base", "task=task"});
  EXPECT_EQ(worker("pack", request({{"base", base_}, {"candidate", made}})).number("objects"), 7U)
      << "three commits, two trees, two files";
  EXPECT_EQ(sh("git init -q --bare new && git -C new fetch -q $TOP/repo main && cp " + out() +
               "/pack new/objects/pack/pack-" + made + ".pack && git -C new index-pack objects/pack/pack-" + made +
               ".pack >/dev/null && git -C new log "
               "--format=%s " +
               made + " ^" + base_),
            "Work on it\nWork\nOne");

  moveBranch("echo mine >mine && git add mine && git commit -q -m Mine");
  const auto moved = keeping(tip_, base_);
  ASSERT_EQ(moved.get("candidate").size(), 40U) << moved.get("message") << moved.get("fault");
  keep("task");
  look();
  EXPECT_EQ(sh("git -C all log -1 --format=%P " + std::string(moved.get("candidate"))), tip_ + " " + writer_);
  moveBranch("git reset -q --hard HEAD~1 && git commit -q --amend -m Better");
  const auto lost = keeping(tip_, base_);
  EXPECT_EQ(lost.get("refused"), "WrongState") << lost.get("fault");
  EXPECT_NE(lost.get("message").find("--branch"), std::string_view::npos);
}

TEST_F(Move, NamesWhatConflicts) {
  struct Case {
    const char* writer;
    const char* person;
    const char* path;
  };
  const Case cases[] = {
      {"echo writer >file", "echo person >file", "\n  file"},
      {"rm left", "echo person >left", "\n  left"},
      {"echo writer >left", "git rm -q left", "\n  left"},
      {"echo writer >both", "echo person >both", "\n  both"},
      {"rm -r sub && echo writer >sub", "echo person >sub/file", "\n  sub"},
      {"chmod -x tool && ln -sf left link", "ln -sf sub link", "\n  link"},
      {"printf '* merge=union\\n' >.gitattributes && echo writer >file",
       "printf '* merge=union\\n' >.gitattributes && "
       "echo person >file",
       "\n  file"},
  };
  for (const auto& one : cases) {
    sh("rm -rf task && git -C clone reset -q --hard " + base_ +
       " && git -C clone clean -qfd && git -C repo reset -q --hard " + base_ + " && git -C repo clean -qfd");
    work(one.writer);
    moveBranch(std::string(one.person) + " && git add -A && git commit -q -m Mine");
    const auto report = move();
    EXPECT_NE(report.get("conflict").find(one.path), std::string_view::npos)
        << one.writer << ": " << report.get("conflict") << report.get("fault") << report.get("message");
    EXPECT_FALSE(report.has("candidate"));
  }
}

TEST_F(Move, WhatTheBranchLostDoesNotComeBackWithTheWork) {
  sh("cd repo && echo secret >secret && git add -A && git commit -q -m Secret");
  base_ = snapshot("repo");
  sh("git -C clone pull -q");
  work("echo new >new");
  moveBranch("git rm -q --cached secret && rm secret && git commit -q --amend --allow-empty -m 'No secret'");
  const auto report = move();
  const std::string moved(report.get("candidate"));
  ASSERT_EQ(moved.size(), 40U) << report.get("message") << report.get("fault");
  keep("task");
  look();
  EXPECT_EQ(sh("git -C all diff --name-only " + tip_ + " " + moved), "new");
  EXPECT_EQ(sh("git -C all rev-list " + moved + " | grep -c " + base_ + " || true"), "0");
}

TEST_F(Move, SaysWhenNothingIsLeftToDo) {
  work("echo new >new");
  moveBranch("echo new >new && git add -A && git commit -q -m 'The same'");
  EXPECT_EQ(move().number("nothing"), 1U);
}

TEST_F(Move, AWriterThatMergedTheBranchIsTakenAtItsWord) {
  work("echo writer >file");
  moveBranch("echo person >file && git add -A && git commit -q -m Mine");
  const auto conflict = move(base_, writer_);
  EXPECT_TRUE(conflict.has("conflict"));
  EXPECT_EQ(bring({base_, tip_}).get("base"), base_);
  sh("cd clone && git fetch -q ../repo && (git merge -q FETCH_HEAD >/dev/null || true) && echo both >file && git "
     "commit -q -a "
     "-m Merge");
  writer_ = sh("git -C clone rev-parse HEAD");
  const auto brought = bring({base_, tip_});
  EXPECT_EQ(brought.get("base"), tip_) << brought.get("message") << brought.get("fault");
  EXPECT_EQ(brought.number("changed"), 1U);
  EXPECT_EQ(brought.all("subject").size(), 2U) << "the person's own commits are not the writer's";
  keep("task");
  const auto report = move(tip_, writer_);
  keep("task");
  look();
  EXPECT_EQ(sh("git -C all show " + std::string(report.get("candidate")) + ":file"), "both");
}

}  // namespace
}  // namespace coffer::repository
