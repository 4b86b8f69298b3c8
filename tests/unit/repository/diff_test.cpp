#include "bench.hpp"

namespace coffer::repository {
namespace {

class Diff : public Bench {
 protected:
  Diff() { base_ = sh("git -C repo rev-parse HEAD"); }
  std::string commit(const std::string& script) {
    sh("cd repo && " + script + " && git add -A && git commit -q -m Next");
    return snapshot("repo");
  }
  std::string base_;
};

TEST_F(Diff, ShowsWhatChangedAndCountsIt) {
  const auto candidate =
      commit("printf 'one\\nTHREE\\nfour\\n' >file && git mv sub/file sub/moved && printf '\\0\\1' >bin && rm tool");
  inputs({"base=base"});
  const auto report = worker("diff", request({{"base", base_}, {"candidate", candidate}}));
  EXPECT_EQ(report.number("files"), 4U) << report.get("message") << report.get("fault");
  EXPECT_EQ(report.number("insertions"), 2U);
  EXPECT_EQ(report.number("deletions"), 2U);
  std::string paths;
  for (const auto& record : report.list())
    if (record.key == "path" || record.key == "from") paths += record.value + "|";
  EXPECT_EQ(paths, "A bin|M file|R sub/moved|sub/file|D tool|");
  const auto text = read(out() + "/diff");
  EXPECT_EQ(text.size(), report.number("bytes"));
  EXPECT_NE(text.find("\n-three\n+THREE\n+four\n"), std::string::npos) << text;
  EXPECT_NE(text.find("Binary files"), std::string::npos);
  EXPECT_FALSE(report.has("truncated"));
}

TEST_F(Diff, NoDriverOfTheTreeRuns) {
  const auto candidate = commit(
      "echo '* diff=evil' >.gitattributes && git config diff.evil.command \"touch $TOP/ran\" && "
      "git config diff.evil.textconv \"touch $TOP/ran\" && echo x >>file");
  sh("git -C repo diff HEAD~1");
  ASSERT_TRUE(exists("ran"));
  // And where whoever runs it has them for everything.
  sh("rm ran && git config --global diff.evil.command \"touch $TOP/ran\" && git config --global diff.evil.textconv "
     "\"touch $TOP/ran\" && echo '* diff=evil' >attributes && git config --global core.attributesFile $TOP/attributes "
     "&& "
     "git -C repo diff-tree -p --ext-diff HEAD~1 HEAD");
  ASSERT_TRUE(exists("ran"));
  sh("rm ran");
  inputs({"base=base"});
  const auto report = worker("diff", request({{"base", base_}, {"candidate", candidate}}));
  EXPECT_EQ(report.number("files"), 2U) << report.get("fault");
  EXPECT_FALSE(exists("ran"));
}

TEST_F(Diff, NamesThePathsThatMatchARiskyPattern) {
  const auto candidate = commit(
      "mkdir -p .github/workflows deep/sub && echo a >.github/workflows/ci.yml && echo b >deep/sub/makefile && "
      "ln -s file deep/.husky && echo c >Makefile.txt && echo d >github && git mv sub/file Makefile");
  inputs({"base=base"});
  const auto report = worker("diff", request({{"base", base_},
                                              {"candidate", candidate},
                                              {"risky", "**/.github/**"},
                                              {"risky", "**/Makefile"},
                                              {"risky", "**/.husky/**"}}));
  std::string paths;
  for (const auto path : report.all("risky"))
    paths.append(path).append("|");
  EXPECT_EQ(paths, ".github/workflows/ci.yml|Makefile|deep/.husky|deep/sub/makefile|")
      << report.get("message") << report.get("fault");
  EXPECT_EQ(report.number("risky-count"), 4U);
}

TEST_F(Diff, CountsMoreRiskyPathsThanItNames) {
  const auto candidate = commit("mkdir ci && for n in $(seq 50); do echo x >ci/$n; done");
  inputs({"base=base"});
  const auto report = worker("diff", request({{"base", base_}, {"candidate", candidate}, {"risky", "ci/**"}}));
  EXPECT_EQ(report.number("risky-count"), 50U) << report.get("message") << report.get("fault");
  EXPECT_EQ(report.all("risky").size(), limits::kRiskyShown);
}

TEST_F(Diff, APatternIsNoOtherMagic) {
  const auto candidate = commit("echo x >>file");
  inputs({"base=base"});
  const auto report = worker("diff", request({{"base", base_}, {"candidate", candidate}, {"risky", ":(exclude)file"}}));
  EXPECT_EQ(report.get("refused"), "InvalidArgument");
}

TEST_F(Diff, IsCutAtTheLimitAndSaysSo) {
  const auto candidate = commit("seq 1 2000000 >big");
  inputs({"base=base"});
  const auto report = worker("diff", request({{"base", base_}, {"candidate", candidate}}));
  EXPECT_EQ(report.number("bytes"), limits::kDiffBytes) << report.get("fault");
  EXPECT_EQ(report.number("truncated"), 1U);
  EXPECT_EQ(report.number("insertions"), 2000000U);
}

TEST_F(Diff, NamesAreBytes) {
  const auto candidate = commit("printf x >\"$(printf 'a\\nb\\377')\"");
  inputs({"base=base"});
  EXPECT_EQ(worker("diff", request({{"base", base_}, {"candidate", candidate}})).get("path"), "A a\nb\xff");
}

TEST_F(Diff, PackHoldsWhatTheBaseLacks) {
  const auto candidate = commit("echo x >>file");
  inputs({"base=base"});
  const auto report = worker("pack", request({{"base", base_}, {"candidate", candidate}}));
  EXPECT_EQ(report.number("objects"), 3U) << report.get("message") << report.get("fault");
  EXPECT_EQ(report.get("name").size(), 40U);
  sh("cp " + out() + "/pack p.pack && cp " + out() + "/idx p.idx && git verify-pack p.idx");
}

}  // namespace
}  // namespace coffer::repository
