#include <chrono>
#include <fstream>
#include <sstream>

#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fixture.hpp"
#include "model/limits.hpp"
#include "store/schema.hpp"

namespace coffer::store {
namespace {

class File : public StoreTest {};

std::string bytesOf(const std::string& path) {
  std::ostringstream bytes;
  bytes << std::ifstream(path, std::ios::binary).rdbuf();
  return bytes.str();
}

/// Ends the process the way a power cut would: from within SQLite, with nothing closed, at the last of so many commits.
int endAtTheLast(void* left) {
  if (--*static_cast<int*>(left) == 0) _exit(7);
  return 0;
}

TEST_F(File, IsOnlyForItsOwner) {
  struct stat info{};
  ASSERT_EQ(::stat(path().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0600U);
}

TEST_F(File, OfANewerProgramIsRefusedUntouched) {
  make();
  store_->database().script("PRAGMA user_version=" + std::to_string(kSchemaVersion + 1));
  store_.reset();
  const std::string before = bytesOf(path());
  const auto opened = Store::open(path(), 1);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, ErrorCode::Unsupported);
  EXPECT_NE(opened.error().message.find("newer"), std::string::npos);
  EXPECT_EQ(bytesOf(path()), before);
}

/// As a store was before uids had names: what the second step adds is taken away again.
TEST_F(File, OfTheFirstFormIsTakenOverWithAllThatItHolds) {
  Project project;
  project.owner = 1000;
  project.name = "zlib";
  project.directory = "/home/a/zlib";
  const auto id = *store_->projects().add(project);
  const auto task = make();
  store_->database().script(
      "DROP TABLE owners; DROP INDEX projects_disowned; DROP INDEX projects_by_name;"
      "ALTER TABLE projects DROP COLUMN disowned;"
      "CREATE UNIQUE INDEX projects_by_name ON projects (owner, name) WHERE removed = 0;"
      "DELETE FROM schema_steps WHERE version = 2; PRAGMA user_version=1");
  reopen();
  const auto kept = store_->projects().get(id);
  ASSERT_TRUE(kept) << kept.error().message;
  EXPECT_EQ(kept->owner, project.owner) << "nobody has lost it";
  EXPECT_EQ(kept->name, project.name);
  EXPECT_EQ(store_->tasks().get(task.id)->state, task.state);
  EXPECT_EQ(store_->projects().add(project).error().code, ErrorCode::NameTaken);
  ASSERT_TRUE(store_->owners().remember(1000, "alice"));
  EXPECT_EQ((*store_->owners().name(1000)).value_or(""), "alice");
}

/// The package's preinst reads it while cofferd has the store open.
TEST_F(File, HasItsFormInTheHeaderOnceItIsOpen) {
  reopen();
  const std::string bytes = bytesOf(path());
  ASSERT_GT(bytes.size(), 64U);
  EXPECT_EQ(bytes.substr(60, 4), std::string("\0\0\0", 3) + static_cast<char>(kSchemaVersion));
}

TEST_F(File, OfAnotherProgramIsRefused) {
  store_->database().script("PRAGMA application_id=1");
  store_.reset();
  EXPECT_EQ(Store::open(path(), 1).error().code, ErrorCode::Unsupported);
  std::ofstream(path(), std::ios::trunc) << "this is no database at all, but some text that is long enough to be one";
  EXPECT_EQ(Store::open(path(), 1).error().code, ErrorCode::Unsupported);
}

TEST_F(File, IsSyncedAtEveryCommit) {
  const auto pragma = [&](const char* name) {
    auto row = store_->database().query(name);
    return row.next() ? row.text(0) : "";
  };
  EXPECT_EQ(pragma("PRAGMA journal_mode"), "wal");
  EXPECT_EQ(pragma("PRAGMA synchronous"), "2");
  EXPECT_EQ(pragma("PRAGMA foreign_keys"), "1");
}

TEST_F(File, SomebodyElseWhoLooksIntoItTakesNothingAway) {
  make();
  reopen();
  const auto log = path() + "-wal";
  struct stat before{};
  ASSERT_EQ(::stat(log.c_str(), &before), 0);
  // A program of its own, which knows nothing of ours: whoever closes the last connection of a store removes its log.
  const auto script =
      "import sqlite3; c = sqlite3.connect('" + path() + "'); c.execute('SELECT count(*) FROM tasks'); c.close()";
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::execlp("python3", "python3", "-c", script.c_str(), nullptr);
    _exit(127);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  struct stat after{};
  ASSERT_EQ(::stat(log.c_str(), &after), 0);
  EXPECT_EQ(after.st_ino, before.st_ino);
}

TEST_F(File, AProcessThatIsKilledBeforeTheCommitHasStoredNothingOfTheAppend) {
  const auto task = planReady(make());
  const auto before = *store_->tasks().lastSequence();
  store_.reset();
  int commits = 1;
  for (;; ++commits) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      auto store = Store::open(path(), 1);
      if (!store) _exit(1);
      sqlite3_commit_hook((*store)->database().handle(), endAtTheLast, &commits);
      auto what = decided(task, model::PlanAccepted{task.plan});
      what.texts = {"text of the append"};
      _exit((*store)->tasks().append(task, std::move(what)) ? 3 : 2);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    if (WEXITSTATUS(status) == 3) break;
    ASSERT_EQ(WEXITSTATUS(status), 7) << "it ended at a commit";
    reopen();
    ASSERT_EQ(*store_->tasks().lastSequence(), before) << "killed at commit " << commits;
    EXPECT_EQ(*store_->tasks().get(task.id), task);
    EXPECT_FALSE(store_->texts().read(model::sha256("text of the append")));
    store_.reset();
  }
  EXPECT_EQ(commits, 2) << "it was killed once, at the only commit there is";
}

TEST_F(File, AProcessThatIsKilledAfterTheCommitHasStoredAllOfTheAppend) {
  const auto task = planReady(make());
  store_.reset();
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    auto store = Store::open(path(), 1);
    if (!store) _exit(1);
    auto what = decided(task, model::PlanAccepted{task.plan});
    what.texts = {"text of the append"};
    what.request = {.uid = 1000, .id = "r", .operation = "AcceptPlan", .answer = "done"};
    _exit((*store)->tasks().append(task, std::move(what)) ? 7 : 2);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_EQ(WEXITSTATUS(status), 7);
  reopen();
  EXPECT_EQ(store_->tasks().get(task.id)->state, model::State::Writing);
  EXPECT_EQ(store_->tasks().openSteps()->size(), 1U);
  EXPECT_EQ(*store_->texts().read(model::sha256("text of the append")), "text of the append");
  EXPECT_EQ(*store_->requests().find(1000, "r", "AcceptPlan"), "done");
}

TEST_F(File, AnotherProgramThatWritesIsWaitedForAndThenSaidToBeInTheWay) {
  const auto task = make();
  sqlite3* other = nullptr;
  ASSERT_EQ(sqlite3_open(path().c_str(), &other), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(other, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_busy_timeout(store_->database().handle(), 10);
  EXPECT_EQ(store_->tasks().append(task, decided(task, model::Cancelled{})).error().code, ErrorCode::Busy);
  sqlite3_close(other);
  EXPECT_TRUE(store_->tasks().append(task, decided(task, model::Cancelled{})));
}

TEST_F(File, AGroupOfCallsIsOneChange) {
  {
    auto group = store_->transaction();
    ASSERT_TRUE(store_->uids().take(model::UidPart::Gateway, 1, "a", 1));
    ASSERT_TRUE(store_->runs().begin({.task = 1, .unit = "a.service"}));
  }
  EXPECT_TRUE(store_->uids().all()->empty()) << "given up without finish()";
  EXPECT_TRUE(store_->runs().ofTask(1)->empty());
  {
    auto group = store_->transaction();
    static_cast<void>(store_->uids().take(model::UidPart::Gateway, 1, "a", 1));
    static_cast<void>(store_->runs().end({.run = 99}));
    const auto done = group.finish();
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, ErrorCode::NotFound);
  }
  EXPECT_TRUE(store_->uids().all()->empty());
}

/// A real file system of 3 MiB, so that writes meet a real end of the disk.
class FullDisk : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = "/tmp/full-XXXXXX";
    directory_ = ::mkdtemp(name.data());
    if (::mount("tmpfs", directory_.c_str(), "tmpfs", 0, "size=3m") != 0)
      GTEST_SKIP() << "needs root to mount a small disk";
  }
  void TearDown() override {
    ::umount2(directory_.c_str(), MNT_DETACH);
    ::rmdir(directory_.c_str());
  }
  std::string directory_;
};

model::Created madeTask(std::uint64_t id) {
  return {.id = id, .owner = 1000, .prompt = model::sha256("p"), .flow = *model::builtInFlow("single")};
}

TEST_F(FullDisk, IsARefusalBeforeTheEventAndLosesNothing) {
  auto store = *Store::open(directory_ + "/cofferd.db", 1);
  std::uint64_t created = 0;
  std::optional<Error> refusal;
  for (int i = 0; i < 2000 && !refusal; ++i) {
    const std::uint64_t id = created + 1;
    auto decision = *model::decide({}, madeTask(id), 1);
    std::string text(limits::kTextBytes, 'x');
    text += std::to_string(i);
    text.erase(0, 10);
    if (auto done = store->tasks().append({}, {.events = std::move(decision.events), .texts = {text}}))
      ++created;
    else
      refusal = done.error();
  }
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->code, ErrorCode::NoSpace) << refusal->message;
  ASSERT_GT(created, 0U);
  EXPECT_EQ(store->tasks().list({}, 0, 1000)->size(), created);
  store.reset();
  store = *Store::open(directory_ + "/cofferd.db", 1);
  EXPECT_EQ(store->tasks().list({}, 0, 1000)->size(), created);
  EXPECT_EQ(store->tasks().get(created)->state, model::State::Queued);
  const auto refused = store->tasks().get(created + 1);
  ASSERT_FALSE(refused) << "nothing of what was refused is there";
  EXPECT_EQ(refused.error().code, ErrorCode::UnknownObject);
}

TEST_F(FullDisk, APersonsDecisionIsRefusedWhileThereIsStillRoomForWhatRuns) {
  auto store = *Store::open(directory_ + "/cofferd.db", 1);
  auto decision = *model::decide({}, madeTask(1), 1);
  const auto refused = store->tasks().append({}, {.events = decision.events, .fromPerson = true});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::NoSpace);
  EXPECT_TRUE(store->tasks().append({}, {.events = decision.events}));
}

TEST_F(File, ADecisionIsStoredInAboutAMillisecond) {
  auto task = planReady(make());
  constexpr int kRounds = 200;
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < kRounds; ++i) {
    task = tell(task, model::Replied{model::sha256("r")});
    task = tell(task, model::TurnEnded{.step = task.step->name, .plan = {.digest = model::sha256("plan")}});
  }
  const auto took = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  // A number to look at, no limit: a busy machine would make one lie.
  RecordProperty("milliseconds", std::to_string(took / (2 * kRounds)));
  std::printf("a decision: %.3f ms\n", took / (2 * kRounds));
}

}  // namespace
}  // namespace coffer::store
