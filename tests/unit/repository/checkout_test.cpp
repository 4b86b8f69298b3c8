#include "bench.hpp"

namespace coffer::repository {
namespace {

class Checkout : public Bench {
 protected:
  Checkout() { base_ = snapshot("repo"); }

  Records checkout(Records records) {
    inputs({"base=base"});
    records.add("alternate", at("base/objects"));
    records.add("user-name", "Ada \"A\" Person");
    records.add("user-email", "ada@example.org");
    return worker("checkout", records);
  }
  /// Makes a new snapshot of the repository and returns its commit.
  std::string next(const std::string& script) {
    sh("cd repo && " + script + " && git add -A && git commit -q -m Next");
    return snapshot("repo");
  }

  std::string base_;
};

TEST_F(Checkout, IsARepositoryThatGitFindsClean) {
  const auto report = checkout(request({{"commit", base_}, {"branch", "refs/heads/topic/one"}}));
  EXPECT_EQ(report.number("files"), 4U) << report.get("message") << report.get("fault");
  sh("ln -s " + out() + "/tree tree");
  EXPECT_EQ(sh("cd tree && git status --porcelain --branch"), "## topic/one");
  EXPECT_EQ(sh("cd tree && git log --format=%s"), "Second\nFirst");
  EXPECT_EQ(sh("cd tree && git config user.name && readlink link && test -x tool && cat file"),
            "Ada \"A\" Person\nfile\none\nthree");
  EXPECT_EQ(sh("cd tree && git symbolic-ref HEAD && git fsck --strict 2>&1"), "refs/heads/topic/one");
  EXPECT_EQ(sh("find tree/.git/objects -type f"), at("tree").substr(at("").size()) + "/.git/objects/info/alternates")
      << "nothing is copied";
  EXPECT_FALSE(exists("tree/.git/hooks"));
}

TEST_F(Checkout, NoEntryOfItsIndexIsReadAgainByStatus) {
  checkout(request({{"commit", base_}}));
  sh("ln -s " + out() + "/tree tree");
  EXPECT_EQ(status("strace -f -e trace=open,openat -o trace git -C tree status --porcelain >/dev/null && ! grep -E "
                   "'\"(file|sub/file|tool)\"' trace"),
            0)
      << read("trace");
}

TEST_F(Checkout, AChangeInTheFirstSecondIsSeen) {
  checkout(request({{"commit", base_}}));
  sh("ln -s " + out() + "/tree tree && printf 'ONE\\nthree\\n' >tree/file");
  EXPECT_EQ(sh("cd tree && git status --porcelain"), " M file") << "same size, same second";
}

TEST_F(Checkout, LineEndsThatItsAttributesWouldNotWriteAreNoFault) {
  const auto commit = next(
      "printf 'a\\r\\nb\\r\\n' >crlf && git add crlf && git commit -q -m C && echo '* text=auto eol=lf' "
      ">.gitattributes");
  const auto report = checkout(request({{"commit", commit}}));
  EXPECT_EQ(report.get("files"), "6") << report.get("message") << report.get("fault");
  EXPECT_EQ(report.number("differing"), sh("cd " + out() + "/tree && git status --porcelain | wc -l") == "0" ? 0U : 1U);
  EXPECT_EQ(sh("stat -c %A " + out() + "/tree/crlf"), "-rw-r--r--");
}

TEST_F(Checkout, IsDetachedWithoutABranch) {
  checkout(request({{"commit", base_}}));
  EXPECT_EQ(sh("cd " + out() + "/tree && git status --porcelain --branch && git rev-parse HEAD"),
            "## HEAD (no branch)\n" + base_);
}

TEST_F(Checkout, UpdateTouchesOnlyWhatDiffers) {
  checkout(request({{"commit", base_}, {"branch", "refs/heads/main"}}));
  const auto first = out();
  const auto after =
      next("echo new >new && rm sub/file && printf 'changed\\n' >file && mkdir d && echo x >d/x && chmod -x tool");
  inputs({"base=base"});
  sh("stat -c %i " + first + "/tree/link >inode");
  // The verb works in OUT/tree; the checkout is moved to where this run's will be.
  sh("mkdir -p moved && mv " + first + "/tree moved/tree");
  write("in/request", request({{"commit", after},
                               {"from", base_},
                               {"update", "1"},
                               {"branch", "refs/heads/main"},
                               {"alternate", at("base/objects")}})
                          .serialize());
  EXPECT_EQ(status("'" COFFER_REPOSITORY "' checkout --in $TOP/in --out $TOP/moved"), 0) << read("errors");
  EXPECT_EQ(read("moved/report").find("refused"), std::string::npos) << read("moved/report");
  EXPECT_EQ(sh("stat -c %i moved/tree/link"), sh("cat inode"));
  EXPECT_EQ(sh("cd moved/tree && git status --porcelain && git log -1 --format=%s && cat file d/x && ls"),
            "Next\nchanged\nx\nd\nfile\nlink\nnew\ntool");
}

TEST_F(Checkout, ALinkThatReplacesADirectoryLeadsNoFileOut) {
  sh("mkdir outside && echo keep >outside/file");
  checkout(request({{"commit", base_}}));
  sh("mkdir moved && mv " + out() + "/tree moved/tree");
  const auto link = next("rm -r sub && ln -s " + at("outside") + " sub");
  const auto update = [&](const std::string& from, const std::string& to) {
    inputs({"base=base"});
    write("in/request", request({{"commit", to}, {"from", from}, {"update", "1"}}).serialize());
    sh("'" COFFER_REPOSITORY "' checkout --in $TOP/in --out $TOP/moved");
    EXPECT_EQ(read("moved/report").find("refused"), std::string::npos);
  };
  update(base_, link);
  EXPECT_EQ(sh("readlink moved/tree/sub"), at("outside"));
  const auto back = next("rm sub && mkdir sub && echo two >sub/file && echo more >sub/more");
  update(link, back);
  EXPECT_EQ(read("outside/file"), "keep\n");
  EXPECT_FALSE(exists("outside/more"));
  EXPECT_EQ(read("moved/tree/sub/more"), "more\n");
}

TEST_F(Checkout, RefusesWhatIsNoBranchAndWhatIsNotThere) {
  EXPECT_EQ(checkout(request({{"commit", base_}, {"branch", "refs/heads/../x"}})).get("refused"), "InvalidArgument");
  EXPECT_EQ(checkout(request({{"commit", std::string(40, '1')}})).get("refused"), "NoCommit");
  EXPECT_EQ(checkout(request({{"commit", "HEAD"}})).get("refused"), "InvalidArgument");
}

}  // namespace
}  // namespace coffer::repository
