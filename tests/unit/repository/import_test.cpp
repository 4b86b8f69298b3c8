#include "bench.hpp"

namespace coffer::repository {
namespace {

class Import : public Bench {
 protected:
  Import() {
    base_ = snapshot("repo");
    sh("git clone -q repo clone");
  }

  /// Exports the clone as an agent's and imports it with the records given.
  Records bring(Records records) {
    inputs({"source=clone", "base=base"});
    const auto exported = worker("export", request({{"agent", "1"}, {"have", base_}}));
    if (exported.has("refused")) return exported;  // git cannot even read it
    EXPECT_TRUE(exported.has("commit")) << exported.get("fault");
    inputs({"pack=" + out(), "base=base"});
    records.add("agent", 1);
    records.add("commit", exported.get("commit"));
    records.add("have", base_);
    return worker("import", records);
  }
  Records asCandidate(const std::string& message = "Do it") {
    return request({{"base", base_},
                    {"author-name", "Ada Person"},
                    {"author-email", "ada@example.org"},
                    {"author-time", "1700000000 +0100"},
                    {"message", message}});
  }
  /// Commits whatever tree the script prints the id of, and imports it.
  Records bringTree(const std::string& script) {
    sh("cd clone && tree=$(" + script + ") && git update-ref refs/heads/main $(git commit-tree -p HEAD -m Evil $tree)");
    return bring(asCandidate());
  }

  std::string base_;
};

TEST_F(Import, MakesTheCandidateOfTheWritersTreeOnTheBase) {
  sh("cd clone && echo a >a && git add . && git commit -q -m 'One' && echo b >b && git add . && git commit -q -m "
     "'Two'");
  const auto report = bring(asCandidate("Add a and b\n\nCoffer-Task: 17\n\n"));
  ASSERT_TRUE(report.has("candidate")) << report.get("message") << report.get("fault");
  EXPECT_EQ(report.number("commits"), 2U);
  EXPECT_EQ(report.number("changed"), 2U);
  EXPECT_FALSE(report.has("nothing"));
  ASSERT_EQ(report.all("subject").size(), 2U);
  EXPECT_EQ(report.all("subject")[0], "One");
  EXPECT_EQ(report.all("store").size(), 4U) << "two packs, two indexes";
  const std::string candidate(report.get("candidate"));
  sh("git clone -q --bare repo all && cp " + out() + "/objects/pack/* all/objects/pack/");
  EXPECT_EQ(
      sh("git -C all log -1 --format='%T %P %an <%ae> %ad|%cn %cd|%B' --date=raw " + candidate),
      std::string(report.get("tree")) + " " + base_ +
          " Ada Person <ada@example.org> 1700000000 +0100|Ada Person 1700000000 +0100|Add a and b\n\nCoffer-Task: 17");
  EXPECT_EQ(report.get("candidate"), bring(asCandidate("Add a and b\n\nCoffer-Task: 17")).get("candidate"))
      << "the same again";
}

TEST_F(Import, CutsALongSubjectBetweenItsCharacters) {
  // Two bytes each, after one of one byte: the limit is in the middle of one.
  sh("cd clone && echo a >a && git add . && git commit -q -m \"x$(printf 'ä%.0s' $(seq 150))\"");
  const auto report = bring(asCandidate());
  ASSERT_TRUE(report.has("subject")) << report.get("message") << report.get("fault");
  std::string subject = "x";
  for (int i = 0; i < 99; ++i)
    subject += "ä";
  EXPECT_EQ(report.get("subject"), subject);
}

TEST_F(Import, CandidateIsMadeAgainWithAnotherMessageFromTheTaskStore) {
  sh("cd clone && echo a >a && git add . && git commit -q -m 'One'");
  const auto first = bring(asCandidate());
  sh("mkdir task && mv " + out() + "/objects task/");
  inputs({"base=base", "task=task"});
  auto again = asCandidate("Say it better");
  again.add("commit", first.get("candidate"));
  const auto second = worker("candidate", again);
  EXPECT_EQ(second.get("tree"), first.get("tree")) << second.get("message") << second.get("fault");
  EXPECT_NE(second.get("candidate"), first.get("candidate"));
  EXPECT_EQ(second.number("changed"), 1U);
}

TEST_F(Import, TellsThatNothingChanged) {
  sh("cd clone && git commit -q --allow-empty -m 'Nothing'");
  EXPECT_EQ(bring(asCandidate()).number("nothing"), 1U);
  sh("cd clone && git reset -q --hard origin/main");
  const auto report = bring(asCandidate());
  EXPECT_EQ(report.number("nothing"), 1U) << report.get("message") << report.get("fault");
  EXPECT_EQ(report.number("commits"), 0U);
}

TEST_F(Import, RefusesAnIdentityThatCannotStandInACommit) {
  sh("cd clone && echo a >a && git add . && git commit -q -m 'One'");
  for (const auto& [key, value] :
       std::initializer_list<std::pair<std::string, std::string>>{{"author-name", "A\nparent x"},
                                                                  {"author-name", "A <b>"},
                                                                  {"author-email", ""},
                                                                  {"author-time", "now"},
                                                                  {"message", " \n"}}) {
    Records records;
    const auto good = asCandidate();
    for (const auto& record : good.list())
      records.add(record.key, record.key == key ? value : record.value);
    EXPECT_EQ(bring(records).get("refused"), "InvalidArgument") << key;
  }
}

TEST_F(Import, RefusesDotGitInEveryDisguise) {
  for (const std::string name :
       {".git", ".GIT", "git~1", ".git ", ".git.", ".git::x", ".g\\342\\200\\214it", ".git\\\\hooks"}) {
    const auto report =
        bringTree("blob=$(echo x | git hash-object -w --stdin); (printf '100644 " + name +
                  "\\0'; perl -e 'print pack q(H*), shift' $blob) | git hash-object -t tree -w --stdin --literally");
    EXPECT_EQ(report.get("refused"), "RepositoryUnsupported") << name << report.get("fault");
  }
}

TEST_F(Import, RefusesNamesThatLeadOutAndModesThatAreNone) {
  for (const std::string entry : {"100644 ..", "100644 a/b", "100644 ../x", "40000 .", "104755 tool", "100664 tool"}) {
    const auto report =
        bringTree("blob=$(echo x | git hash-object -w --stdin); (printf '" + entry +
                  "\\0'; perl -e 'print pack q(H*), shift' $blob) | git hash-object -t tree -w --stdin --literally");
    EXPECT_EQ(report.get("refused"), "RepositoryUnsupported") << entry << report.get("fault");
  }
}

TEST_F(Import, RefusesDotGitEvenWhenALaterCommitRemovedIt) {
  sh("cd clone && blob=$(echo x | git hash-object -w --stdin) && tree=$( (printf '100644 .GIT\\0'; perl -e 'print pack "
     "q(H*), shift' $blob) | "
     "git hash-object -t tree -w --stdin --literally) && evil=$(git commit-tree -p HEAD -m Evil $tree) && "
     "git update-ref refs/heads/main $(git commit-tree -p $evil -m Clean HEAD^{tree})");
  EXPECT_EQ(bring(asCandidate()).get("refused"), "RepositoryUnsupported");
}

TEST_F(Import, RefusesANewSubmodule) {
  sh("cd clone && git update-index --add --cacheinfo 160000," + base_ + ",module && git commit -q -m Module");
  const auto report = bring(asCandidate());
  EXPECT_EQ(report.get("refused"), "RepositoryUnsupported") << report.get("fault");
  EXPECT_NE(report.get("message").find("submodule at module"), std::string_view::npos) << report.get("message");
}

TEST_F(Import, RefusesGitmodulesThatWouldLeadOut) {
  sh("cd clone && printf '[submodule \"../../x\"]\\n\\tpath = m\\n\\turl = u\\n' >.gitmodules && git add . && git "
     "commit -q -m M");
  EXPECT_EQ(bring(asCandidate()).get("refused"), "RepositoryUnsupported");
  sh("git -C clone reset -q --hard origin/main");
  EXPECT_EQ(
      bringTree("printf '120000 blob %s\\t.gitmodules\\n' $(printf file | git hash-object -w --stdin) | git mktree")
          .get("refused"),
      "RepositoryUnsupported");
}

TEST_F(Import, TellsNamesThatDifferByCaseOnly) {
  sh("cd clone && echo a >FILE && git add . && git commit -q -m 'One'");
  const auto report = bring(asCandidate());
  EXPECT_EQ(report.number("collisions"), 1U) << report.get("message") << report.get("fault");
  EXPECT_EQ(report.get("collision"), "file");
}

TEST_F(Import, RefusesAPackThatIsBrokenOrNotComplete) {
  sh("cd clone && echo a >a && git add . && git commit -q -m 'One'");
  inputs({"source=clone", "base=base"});
  const std::string commit(worker("export", request({{"agent", "1"}, {"have", base_}})).get("commit"));
  const std::string pack = out();
  const auto refused = [&](const std::string& name) {
    inputs({"pack=" + name, "base=base"});
    return std::string(worker("import", request({{"agent", "1"}, {"commit", commit}, {"have", base_}})).get("refused"));
  };
  EXPECT_EQ(refused(pack), "");
  sh("mkdir cut && head -c 100 " + pack +
     "/pack >cut/pack && mkdir text && echo text >text/pack && mkdir less && cd clone && "
     "git rev-parse HEAD HEAD^{tree} >ids && git pack-objects --stdout -q <ids >../less/pack");
  EXPECT_EQ(refused("cut"), "RepositoryUnsupported");
  EXPECT_EQ(refused("text"), "RepositoryUnsupported");
  EXPECT_EQ(refused("less"), "RepositoryUnsupported") << "a blob is missing";
  inputs({"pack=" + pack});
  EXPECT_NE(worker("import", request({{"agent", "1"}, {"commit", commit}})).get("refused"), "")
      << "its base is not in any store";
}

}  // namespace
}  // namespace coffer::repository
