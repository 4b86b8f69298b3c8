#include <array>
#include <cstdlib>
#include <filesystem>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "engine/accounts.hpp"
#include "engine/host_rules.hpp"
#include "engine/identities.hpp"
#include "engine/keep.hpp"
#include "engine/message.hpp"
#include "engine/sweep.hpp"
#include "engine/unit_input.hpp"
#include "engine/views.hpp"
#include "os/beneath.hpp"

namespace coffer::engine {
namespace {

namespace fs = std::filesystem;

TEST(TaskOfName, TellsWhoseAnythingOfOursIs) {
  EXPECT_EQ(taskOfName("coffer-17-0-writer-1.service"), 17U);
  EXPECT_EQ(taskOfName("coffer-17-0-writer-1-gateway"), 17U);
  EXPECT_EQ(taskOfName("t17"), 17U);
  EXPECT_EQ(taskOfName("t17-out"), 17U);
  EXPECT_EQ(taskOfName("p3"), 0U);
  EXPECT_EQ(taskOfName("coffer-p3-add-export"), 0U);
  for (const char* name : {"", "x", "coffer-walls.service", "coffer-u1000.slice", "t", "tx", "t17x", "17"})
    EXPECT_FALSE(taskOfName(name)) << name;
}

TEST(Identities, NameEachUidByItsPart) {
  EXPECT_EQ(Identities::name(model::UidRanges(), 0x7A000001), "coffer-s1");
  EXPECT_EQ(Identities::name(model::UidRanges(), 0x7A080000), "coffer-g0");
  EXPECT_EQ(Identities::name(model::UidRanges(), 0x7A0E0000 + 12), "coffer-w12");
}

TEST(Accounts, AreUsersAndGroupsByTheirNames) {
  const auto accounts = accountsOf({"root", "%daemon", "root"});
  ASSERT_TRUE(accounts.has_value()) << accounts.error().message;
  EXPECT_EQ(accounts->users, std::vector<std::uint32_t>{0});
  EXPECT_EQ(namesOf(*accounts).of(*accounts), (std::vector<std::string>{"root", "%daemon"}));
  EXPECT_EQ(accountsOf({"no-such-user"}).error().code, ErrorCode::NotFound);
  EXPECT_EQ(accountsOf({"%no-such-group"}).error().code, ErrorCode::NotFound);
  EXPECT_EQ(accountsOf({""}).error().code, ErrorCode::InvalidArgument);
  EXPECT_EQ(accountsOf({"%"}).error().code, ErrorCode::InvalidArgument);
  const Accounts unknown{{4'000'000'001}, {4'000'000'002}};
  EXPECT_EQ(namesOf(unknown).of(unknown), (std::vector<std::string>{"4000000001", "%4000000002"}));
}

TEST(Accounts, HoldWhoIsNamedOrInAGroupThatIs) {
  EXPECT_TRUE(holds({{1, 2}, {}}, 2, {}));
  EXPECT_FALSE(holds({{1, 2}, {}}, 3, {1}));
  EXPECT_FALSE(holds({}, 0, {0}));
  EXPECT_TRUE(holds({{}, {1}}, 1, groupsOf(1))) << "daemon is in its own group";
  EXPECT_FALSE(holds({{}, {1}}, 2, groupsOf(2)));
  EXPECT_EQ(groupsOf(4'000'000'001), std::vector<gid_t>{}) << "who is unknown is in no group";
}

TEST(Accounts, AreReadFromAFileWithoutAskingAnybody) {
  EXPECT_EQ(nameInFile(0), "root");
  EXPECT_EQ(nameInFile(4'000'000'001), std::nullopt);
  EXPECT_EQ(nameInFile(0, "/nowhere"), std::nullopt);
}

TEST(Title, IsTheFirstLineCutWhereACharacterEnds) {
  EXPECT_EQ(titleOf("\n# Add a thing\n\nmore"), "Add a thing");
  EXPECT_EQ(titleOf("   \n"), "(no title)");
  const std::string umlauts = [] {
    std::string text;
    for (int i = 0; i < 60; ++i)
      text += "\xc3\xa4";
    return text;
  }();
  const auto title = titleOf(umlauts);
  EXPECT_LE(title.size(), 72U);
  EXPECT_TRUE(title.ends_with("\xc3\xa4..."));
}

model::Task finished() {
  model::Task task;
  task.id = 17;
  task.title = "title";
  task.flow = *model::builtInFlow("review");
  task.planSummary = "Count the items";
  task.planAccepted = "sha256:abc";
  task.agents = {{model::Role::Planner, "codex/gpt@mine"},
                 {model::Role::Writer, "claude/opus"},
                 {model::Role::Reviewer, "instant"}};
  return task;
}

TEST(CommitMessage, SaysWhatWasPlannedWhatWasDoneAndByWhom) {
  EXPECT_EQ(commitMessage(finished(), "Add the function\nMend the build\n"),
            "Count the items\n\n* Add the function\n* Mend the build\n\nCoffer-Task: 17\nCoffer-Plan: sha256:abc\n"
            "Coffer-Agent: planner=codex/gpt\nCoffer-Agent: writer=claude/opus\nCoffer-Agent: reviewer=instant\n");
}

TEST(CommitMessage, DoesNotSayTheSameThingTwice) {
  EXPECT_TRUE(commitMessage(finished(), "Count the items\n").starts_with("Count the items\n\nCoffer-Task: 17\n"));
}

TEST(PortOf, ReadsAUrlAsAGatewayWill) {
  EXPECT_EQ(portOf("https://api.example.org/v1"), 443);
  EXPECT_EQ(portOf("http://127.0.0.1:8100/v1"), 8100);
  EXPECT_EQ(portOf("https://[2001:db8::1]:8443"), 8443);
  EXPECT_EQ(portOf("https://[2001:db8::1]/v1"), 443);
  for (const char* url : {"", "ftp://x", "https://x:0", "https://x:port", "https://x:99999"})
    EXPECT_FALSE(portOf(url)) << url;
}

TEST(BaseUrl, CarriesAKeyWithTlsOrToAnAddressThatAnAdministratorNamed) {
  EXPECT_TRUE(mayCarryKey("https://api.example.org/v1", {}));
  EXPECT_FALSE(mayCarryKey("http://api.example.org/v1", {}));
  EXPECT_FALSE(mayCarryKey("ftp://127.0.0.1:8100", {"127.0.0.1:8100"}));
  const std::vector<std::string> named = {"127.0.0.1:8100", "[::1]:11434"};
  EXPECT_TRUE(mayCarryKey("http://127.0.0.1:8100/v1", named));
  EXPECT_TRUE(mayCarryKey("http://[::1]:11434", named));
  EXPECT_TRUE(mayCarryKey("http://localhost:11434", named)) << "a name may be any of that port";
  EXPECT_FALSE(mayCarryKey("http://127.0.0.2:8100/v1", named)) << "another's address";
  EXPECT_FALSE(mayCarryKey("http://127.0.0.1:11434", named)) << "that port is another address's";
  EXPECT_FALSE(mayCarryKey("http://127.0.0.1", named)) << "port 80";
  EXPECT_FALSE(mayCarryKey("http://localhost:8101/v1", named));
}

TEST(GatewayPorts, HoldEachPortOnceInTheirOrder) {
  const auto ports =
      gatewayPorts({"https://a.example:8443", "https://b.example/v1", "http://b.example:443", "ftp://x"});
  ASSERT_EQ(ports.size(), 2U);
  EXPECT_EQ(ports[0].port, 8443);
  EXPECT_EQ(ports[1].port, 443);
}

TEST(AddressAndPort, MustBeExactlyOneAddressAndOnePort) {
  const auto v4 = parseAddressAndPort("127.0.0.1:8100");
  ASSERT_TRUE(v4);
  EXPECT_EQ(v4->family, 4);
  EXPECT_EQ(v4->port, 8100);
  const auto v6 = parseAddressAndPort("[::1]:443");
  ASSERT_TRUE(v6);
  EXPECT_EQ(v6->family, 6);
  for (const char* text : {"127.0.0.1", "localhost:80", "127.0.0.1:0", "127.0.0.0/8:80", ":80"})
    EXPECT_FALSE(parseAddressAndPort(text)) << text;
}

class Directories : public ::testing::Test {
 protected:
  void SetUp() override {
    char path[] = "/tmp/engine-XXXXXX";
    ASSERT_TRUE(::mkdtemp(path));
    top_ = path;
    places_.state = top_ / "state";
    places_.runtime = top_ / "run";
    ASSERT_TRUE(makePath(places_.inputs()));
    ASSERT_TRUE(makePath(places_.work()));
  }
  void TearDown() override { fs::remove_all(top_); }

  fs::path top_;
  Places places_;
  sandbox::Identity somebody_{0x7A0E0001, "coffer-w1"};
};

TEST_F(Directories, InputIsReadableByItsUnitAndIsMadeAnewEachTime) {
  ASSERT_TRUE(writeInput(places_, "unit", somebody_, {{"request", "old"}, {"stale", "x"}}));
  const auto in = writeInput(places_, "unit", somebody_, {{"request", "new"}, {"files/a.json", "{}"}, {"empty/", {}}},
                             {"base/objects/", "stdout"});
  ASSERT_TRUE(in) << in.error().message;
  EXPECT_FALSE(fs::exists(fs::path(*in) / "stale"));
  EXPECT_TRUE(fs::is_directory(fs::path(*in) / "base/objects"));
  EXPECT_TRUE(fs::is_regular_file(fs::path(*in) / "stdout"));
  EXPECT_TRUE(fs::is_directory(fs::path(*in) / "empty"));
  struct stat status{};
  ASSERT_EQ(::stat((*in + "/files/a.json").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0644U);
  ASSERT_EQ(::stat(in->c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0755U);
}

TEST_F(Directories, OutputBelongsToItsUnitWithItsMountPoints) {
  const auto out = makeOutput(places_, "unit", somebody_.uid, {"tree"});
  ASSERT_TRUE(out) << out.error().message;
  for (const auto& path : {*out, *out + "/tree"}) {
    struct stat status{};
    ASSERT_EQ(::stat(path.c_str(), &status), 0);
    EXPECT_EQ(status.st_uid, somebody_.uid) << path;
    EXPECT_EQ(status.st_mode & 0777U, 0700U) << path;
  }
}

TEST_F(Directories, KeepsOnlyWhatIsAPackAndMakesItRoots) {
  const auto out = makeOutput(places_, "unit", somebody_.uid, {"objects"});
  ASSERT_TRUE(out);
  const auto pack = fs::path(*out) / "objects/pack";
  fs::create_directories(pack);
  const std::string name = "pack-" + std::string(40, 'a');
  for (const auto& file : {name + ".pack", name + ".idx", std::string("pack-evil.pack"), std::string("other")}) {
    Fd made(::open((pack / file).c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    ASSERT_EQ(::fchown(made.get(), somebody_.uid, somebody_.uid), 0);
  }
  const auto objects = places_.projectObjects(1);
  ASSERT_TRUE(keepPacks(*out, objects));
  struct stat status{};
  ASSERT_EQ(::stat((objects + "/pack/" + name + ".idx").c_str(), &status), 0);
  EXPECT_EQ(status.st_uid, 0U);
  EXPECT_EQ(status.st_mode & 0777U, 0444U);
  EXPECT_EQ(namesBelow(objects + "/pack", "").size(), 2U);
}

TEST_F(Directories, RefusesAPackThatIsALink) {
  const auto out = makeOutput(places_, "unit", somebody_.uid, {"objects"});
  ASSERT_TRUE(out);
  const auto pack = fs::path(*out) / "objects/pack";
  fs::create_directories(pack);
  fs::create_symlink("/etc/shadow", pack / ("pack-" + std::string(40, 'a') + ".pack"));
  EXPECT_FALSE(keepPacks(*out, places_.projectObjects(1)));
}

TEST_F(Directories, RefusesAPackThatIsNoPlainFileWithOneName) {
  const auto out = makeOutput(places_, "unit", somebody_.uid, {"objects"});
  ASSERT_TRUE(out);
  const auto folder = fs::path(*out) / "objects/pack";
  const auto pack = folder / ("pack-" + std::string(40, 'a') + ".pack");
  fs::create_directories(pack);
  EXPECT_FALSE(keepPacks(*out, places_.projectObjects(1))) << "a directory";
  fs::remove(pack);
  ASSERT_EQ(::mkfifo(pack.c_str(), 0600), 0);
  EXPECT_FALSE(keepPacks(*out, places_.projectObjects(1))) << "a pipe";
  fs::remove(pack);
  const Fd file(::open((folder / "other").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  ASSERT_TRUE(file);
  fs::create_hard_link(folder / "other", pack);
  EXPECT_FALSE(keepPacks(*out, places_.projectObjects(1))) << "a file with another name that stays behind";
  EXPECT_TRUE(namesBelow(places_.projectObjects(1) + "/pack", "").empty());
}

TEST_F(Directories, KeepsATreeWithItsOwnersAsItIs) {
  const auto out = makeOutput(places_, "unit", somebody_.uid, {"tree"});
  ASSERT_TRUE(out);
  ASSERT_TRUE(keepTree(*out, "tree", places_.checkouts(1), "commit"));
  struct stat status{};
  ASSERT_EQ(::stat((places_.checkouts(1) + "/commit").c_str(), &status), 0);
  EXPECT_EQ(status.st_uid, somebody_.uid);
  const auto again = makeOutput(places_, "unit", somebody_.uid, {"tree"});
  ASSERT_TRUE(again);
  EXPECT_TRUE(keepTree(*again, "tree", places_.checkouts(1), "commit")) << "what is kept already is kept";
}

}  // namespace
}  // namespace coffer::engine
