#include "os/beneath.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

namespace coffer::os {
namespace {

namespace fs = std::filesystem;

class Beneath : public ::testing::Test {
 protected:
  void SetUp() override {
    char path[] = "/tmp/beneath-XXXXXX";
    ASSERT_TRUE(::mkdtemp(path));
    top_ = path;
    fs::create_directories(top_ / "in/deep");
    write("outside", "secret");
    write("in/file", "content");
    directory_ = *openDirectory((top_ / "in").string());
  }
  void TearDown() override { fs::remove_all(top_); }
  void write(const std::string& name, const std::string& bytes) const { std::ofstream(top_ / name) << bytes; }

  fs::path top_;
  Fd directory_;
};

TEST_F(Beneath, ReadsAPlainFile) { EXPECT_EQ(readBeneath(directory_.get(), "file", 100).value_or("?"), "content"); }

TEST_F(Beneath, RefusesEveryWayOutOfTheDirectory) {
  fs::create_symlink("../outside", top_ / "in/link");
  fs::create_symlink("file", top_ / "in/inner");
  fs::create_directory_symlink("..", top_ / "in/up");
  fs::create_symlink("/proc/self/exe", top_ / "in/magic");
  for (const char* path : {"../outside", "link", "inner", "up/outside", "magic", "/etc/passwd", "deep/../../outside"})
    EXPECT_FALSE(readBeneath(directory_.get(), path, 100)) << path;
}

TEST_F(Beneath, RefusesWhatIsNotAPlainFileWithOneName) {
  ASSERT_EQ(::link((top_ / "outside").c_str(), (top_ / "in/second").c_str()), 0);
  ASSERT_EQ(::mkfifo((top_ / "in/pipe").c_str(), 0600), 0);
  for (const char* path : {"second", "pipe", "deep"}) {
    const auto read = readBeneath(directory_.get(), path, 100);
    ASSERT_FALSE(read) << path;
    EXPECT_EQ(read.error().code, ErrorCode::Sandbox) << path;
  }
}

TEST_F(Beneath, RefusesMoreThanTheLimitAndSaysSo) {
  const auto read = readBeneath(directory_.get(), "file", 3);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, ErrorCode::TooLarge);
}

TEST_F(Beneath, WritesAFileCompleteOrNotAtAll) {
  ASSERT_TRUE(writeFile(directory_.get(), "new", "bytes", 0640, true));
  EXPECT_EQ(readBeneath(directory_.get(), "new", 100).value_or("?"), "bytes");
  struct stat status{};
  ASSERT_EQ(::stat((top_ / "in/new").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0640U);
  EXPECT_FALSE(fs::exists(top_ / "in/new.new"));
}

TEST_F(Beneath, DoesNotWriteThroughALinkLaidInItsWay) {
  fs::create_symlink("../outside", top_ / "in/trap.new");
  EXPECT_FALSE(writeFile(directory_.get(), "trap", "overwritten", 0600));
  fs::create_symlink("../outside", top_ / "in/final");
  EXPECT_TRUE(writeFile(directory_.get(), "final", "new", 0600));
  EXPECT_FALSE(fs::is_symlink(top_ / "in/final"));
  std::string bytes;
  std::ifstream(top_ / "outside") >> bytes;
  EXPECT_EQ(bytes, "secret");
}

TEST_F(Beneath, RemovesATreeAndNothingThatItsLinksLeadTo) {
  fs::create_directories(top_ / "victim");
  write("victim/file", "stays");
  fs::create_directory_symlink(top_ / "victim", top_ / "in/deep/link");
  write("in/deep/.hidden", "goes");
  fs::create_directories(top_ / "in/deep/closed");
  write("in/deep/closed/file", "goes");
  fs::permissions(top_ / "in/deep/closed", fs::perms::none);
  ASSERT_TRUE(removeTree(directory_.get(), "deep"));
  EXPECT_FALSE(fs::exists(top_ / "in/deep"));
  EXPECT_TRUE(fs::exists(top_ / "victim/file"));
}

TEST_F(Beneath, RemovesATreeHoweverDeepWithFewDescriptors) {
  constexpr int kDeep = 3000;
  Fd at = *openDirectory((top_ / "in/deep").string());
  for (int i = 0; i < kDeep; ++i) {
    ASSERT_EQ(::mkdirat(at.get(), "below", 0700), 0);
    Fd next(::openat(at.get(), "below", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    ASSERT_TRUE(next);
    // Somebody's, who has closed it.
    ASSERT_EQ(::fchown(next.get(), 65534, 65534), 0);
    ASSERT_EQ(::fchmod(next.get(), 0500), 0);
    at = std::move(next);
  }
  at.reset();
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit few{64, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  const auto removed = removeTree(directory_.get(), "deep");
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_TRUE(removed) << removed.error().message;
  EXPECT_FALSE(fs::exists(top_ / "in/deep"));
}

TEST_F(Beneath, RemovingWhatIsNotThereIsDone) { EXPECT_TRUE(removeTree(directory_.get(), "nothing")); }

TEST_F(Beneath, NeverRemovesAcrossAMountEvenOfTheSameFileSystem) {
  fs::create_directories(top_ / "victim");
  write("victim/file", "stays");
  fs::create_directories(top_ / "in/deep/mounted");
  if (::mount((top_ / "victim").c_str(), (top_ / "in/deep/mounted").c_str(), nullptr, MS_BIND, nullptr) != 0)
    FAIL() << "this test makes a bind mount and must run as root";
  const auto removed = removeTree(directory_.get(), "deep");
  EXPECT_FALSE(removed);
  EXPECT_TRUE(fs::exists(top_ / "victim/file"));
  ASSERT_EQ(::umount((top_ / "in/deep/mounted").c_str()), 0);
}

}  // namespace
}  // namespace coffer::os
