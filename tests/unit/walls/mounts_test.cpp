#include <csignal>
#include <fstream>
#include <sstream>

#include <linux/fs.h>
#include <linux/sockios.h>
#include <sys/syscall.h>

#include "machine.hpp"
#include "os/tree_remover.hpp"

namespace coffer::walls::test {
namespace {

namespace fs = std::filesystem;

void write(const std::string& path, const std::string& text) { std::ofstream(path) << text; }
std::string read(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}
Fd directory(const std::string& path) { return Fd(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)); }

class Mounts : public WallsTest {
 protected:
  void SetUp() override {
    ASSERT_EQ(shell("truncate -s 32M /tmp/image && mkfs.ext4 -q -F -E root_owner=0:0 /tmp/image 2>&1"), "");
    image = Fd(::open("/tmp/image", O_RDWR | O_CLOEXEC));
    fs::create_directories("/tmp/lower/deep");
    write("/tmp/lower/file", "base");
    write("/tmp/lower/deep/file", "base");
    shell("chown -R " + std::to_string(kWorker) + ":" + std::to_string(kWorker) +
          " /tmp/lower; chmod 0600 /tmp/lower/file");
    ::chmod("/tmp/run", 0711);
    ::chmod("/tmp/run/ws", 0711);
    ::chmod("/tmp/run/img", 0711);
    ::chmod("/tmp/run/src", 0711);
    lower = directory("/tmp/lower");
  }
  void TearDown() override {
    EXPECT_TRUE(walls().unmountWorkspace("w"));
    EXPECT_TRUE(walls().unmountImage("i"));
  }
  static int agent(const std::string& command) {
    return asUid(kAgent, "", [&] { return std::system(("(" + command + ") 2>/dev/null").c_str()) == 0 ? 0 : 1; });
  }
  const IdMap map{kWorker, kWorker, kAgent};
  Fd image, lower;
};

TEST_F(Mounts, AWorkspaceIsTheAgentsAndTheBaseStaysAsItWas) {
  ASSERT_TRUE(walls().mountImage("i", image.get()));
  const auto mounted = walls().mountWorkspace("w", lower.get(), map, Layer{"i", "writer"});
  ASSERT_TRUE(mounted) << mounted.error().message;
  EXPECT_EQ(
      agent(
          "cd /tmp/run/ws/w && test $(cat file) = base && echo new > file && mv deep moved && echo new > moved/file && "
          "rm moved/file && mkdir d && ln -s x l && chmod 700 d"),
      0);
  EXPECT_EQ(read("/tmp/lower/file"), "base");
  EXPECT_EQ(read("/tmp/lower/deep/file"), "base");
  EXPECT_EQ(read("/tmp/run/img/i/writer/upper/file"), "new\n");
  // It is there again for who asks again, and after an unmount with what was written.
  ASSERT_TRUE(walls().mountWorkspace("w", lower.get(), map, Layer{"i", "writer"}));
  ASSERT_TRUE(walls().unmountWorkspace("w"));
  EXPECT_FALSE(fs::exists("/tmp/run/ws/w"));
  ASSERT_TRUE(walls().mountWorkspace("w", lower.get(), map, Layer{"i", "writer"}));
  EXPECT_EQ(read("/tmp/run/ws/w/file"), "new\n");
}

TEST_F(Mounts, AReadersWorkspaceCannotBeWritten) {
  ASSERT_TRUE(walls().mountImage("i", image.get()));
  ASSERT_TRUE(walls().mountWorkspace("w", lower.get(), map, Layer{"i", "reviewer"}, true));
  EXPECT_EQ(agent("test $(cat /tmp/run/ws/w/file) = base"), 0);
  EXPECT_NE(agent("echo x > /tmp/run/ws/w/file"), 0);
  ASSERT_TRUE(walls().mountWorkspace("plain", lower.get(), map));
  EXPECT_EQ(agent("test $(cat /tmp/run/ws/plain/file) = base"), 0);
  EXPECT_NE(agent("echo x > /tmp/run/ws/plain/file"), 0);
  EXPECT_EQ(std::system("(echo x > /tmp/run/ws/plain/file) 2>/dev/null"), 2 << 8);  // nor by root
  EXPECT_TRUE(walls().unmountWorkspace("plain"));
}

TEST_F(Mounts, NoMountHonoursSetuidOrDevices) {
  ASSERT_TRUE(walls().mountImage("i", image.get()));
  ASSERT_TRUE(walls().mountWorkspace("w", lower.get(), map, Layer{"i", "writer"}));
  ASSERT_TRUE(walls().attachSource("s", lower.get(), true));
  for (const char* name : {"img/i", "ws/w", "src/s"})
    EXPECT_NE(shell(std::string("findmnt -no VFS-OPTIONS /tmp/run/") + name).find("nosuid,nodev"), std::string::npos)
        << name;
  EXPECT_TRUE(walls().detachSource("s"));
}

TEST_F(Mounts, AnImageIsNeverAttachedTwice) {
  ASSERT_TRUE(walls().mountImage("i", image.get(), true));
  ASSERT_TRUE(walls().mountImage("i", image.get(), true));
  EXPECT_NE(shell("findmnt -no VFS-OPTIONS /tmp/run/img/i").find("noexec"), std::string::npos);
  auto again = walls().mountImage("other", image.get());
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, ErrorCode::Busy);
  ASSERT_TRUE(walls().unmountImage("i"));
  EXPECT_TRUE(walls().mountImage("other", image.get()));
  EXPECT_TRUE(walls().unmountImage("other"));
}

TEST_F(Mounts, AnImageIsAPlainFileOfRoots) {
  const Fd readOnly(::open("/tmp/image", O_RDONLY | O_CLOEXEC));
  EXPECT_EQ(walls().mountImage("i", readOnly.get()).error().code, ErrorCode::InvalidArgument);
  EXPECT_EQ(walls().mountImage("i", lower.get()).error().code, ErrorCode::InvalidArgument);
  ASSERT_EQ(::fchown(image.get(), 1000, 1000), 0);
  EXPECT_EQ(walls().mountImage("i", image.get()).error().code, ErrorCode::InvalidArgument);
}

TEST_F(Mounts, ARequestAboutWhatIsStillBeingWorkedOnWaitsForIt) {
  ASSERT_TRUE(walls().mountImage("i", image.get()));
  write("/tmp/run/img/i/dirty", std::string(8 << 20, 'x'));
  // As of a cofferd that asked and was killed.
  const int asked = machine.raw().get();
  const auto unmount = [asked] {
    Request request;
    request.verb = Verb::ImageUnmount;
    request.name = *packName("i");
    if (::send(asked, &request, sizeof request, MSG_NOSIGNAL) != ssize_t{sizeof request}) return false;
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    for (int unread = 1; ::ioctl(asked, SIOCOUTQ, &unread) == 0 && unread != 0; std::this_thread::yield())
      if (std::chrono::steady_clock::now() > until) return false;
    return true;
  };
  Reply reply;
  {
    // While somebody uses the image, its unmount takes its time and comes to nothing.
    const Fd used = directory("/tmp/run/img/i");
    ASSERT_TRUE(unmount());
    EXPECT_TRUE(walls().mountImage("i", image.get()));
    ASSERT_EQ(::recv(asked, &reply, sizeof reply, MSG_DONTWAIT), ssize_t{sizeof reply})
        << "the first is answered first";
    EXPECT_NE(reply.status, kDone);
  }
  ASSERT_TRUE(unmount());
  const auto mounted = walls().mountImage("i", image.get());
  EXPECT_TRUE(mounted) << mounted.error().message;
  ASSERT_EQ(::recv(asked, &reply, sizeof reply, MSG_DONTWAIT), ssize_t{sizeof reply});
  EXPECT_EQ(reply.status, kDone);
  EXPECT_EQ(read("/tmp/run/img/i/dirty").size(), std::size_t{8 << 20}) << "it was mounted after it had gone";
  EXPECT_TRUE(walls().unmountImage("i"));
}

TEST_F(Mounts, AnUnmountOfWhatIsHeldSaysBusyAndWorksLater) {
  ASSERT_TRUE(walls().mountImage("i", image.get()));
  Fd held = directory("/tmp/run/img/i/lost+found");
  EXPECT_EQ(walls().unmountImage("i").error().code, ErrorCode::Busy);
  held.reset();
  EXPECT_TRUE(walls().unmountImage("i"));
}

TEST_F(Mounts, ADirectoryIsMadeOnceAndForOneOwner) {
  ASSERT_TRUE(walls().mountImage("i", image.get()));
  ASSERT_TRUE(walls().makeDirectory("i", "home", kAgent));
  ASSERT_TRUE(walls().makeDirectory("i", "home", kAgent));
  EXPECT_EQ(walls().makeDirectory("i", "home", kAgent + 1).error().code, ErrorCode::NameTaken);
  EXPECT_EQ(agent("echo x > /tmp/run/img/i/home/x"), 0);
  ASSERT_EQ(::symlink("/tmp", "/tmp/run/img/i/link"), 0);
  EXPECT_EQ(walls().makeDirectory("i", "link", kAgent).error().code, ErrorCode::NameTaken);
  EXPECT_EQ(walls().removeDirectory("i", "link").error().code, ErrorCode::NameTaken);
  EXPECT_EQ(walls().makeDirectory("none", "home", kAgent).error().code, ErrorCode::NotFound);
}

TEST_F(Mounts, ARemovalFollowsNoLinkEntersNoMountAndEndsHoweverDeepItIs) {
  ASSERT_TRUE(walls().mountImage("i", image.get()));
  ASSERT_TRUE(walls().makeDirectory("i", "home", kAgent));
  ASSERT_TRUE(walls().makeDirectory("i", "other", kAgent));
  ASSERT_EQ(agent("echo keep >/tmp/run/img/i/other/file && ln -s ../other /tmp/run/img/i/home/beside"), 0);
  fs::create_directory("/tmp/precious");
  write("/tmp/precious/file", "keep");
  ASSERT_EQ(agent("cd /tmp/run/img/i/home && ln -s /tmp/precious link && mkdir 'odd\nname' .lifted-1 && touch "
                  ".lifted-1/f -- '-rf'"),
            0);
  // Deeper than a process may have descriptors, which one for each level would need.
  ASSERT_EQ(asUid(kAgent, "",
                  [] {
                    Fd at = directory("/tmp/run/img/i/home");
                    for (int i = 0; i < 2000; ++i) {
                      if (::mkdirat(at.get(), "d", 0700) != 0 || ::mknodat(at.get(), "f", S_IFREG | 0600, 0) != 0)
                        return 1;
                      at = Fd(::openat(at.get(), "d", O_PATH | O_DIRECTORY | O_CLOEXEC));
                    }
                    return 0;
                  }),
            0);
  fs::create_directory("/tmp/run/img/i/home/mount");
  ASSERT_EQ(::mount("/tmp/precious", "/tmp/run/img/i/home/mount", nullptr, MS_BIND, nullptr), 0);
  auto refused = walls().removeDirectory("i", "home");
  while (refused && !*refused)
    refused = walls().removeDirectory("i", "home");
  EXPECT_FALSE(refused);
  EXPECT_EQ(read("/tmp/precious/file"), "keep");
  ASSERT_EQ(::umount2("/tmp/run/img/i/home/mount", MNT_DETACH), 0);
  const auto none = os::removeDirectory(directory("/tmp/run/img/i").get(), "home", os::Foreign::AsTheyAre,
                                        std::chrono::steady_clock::now());
  ASSERT_TRUE(none) << none.error().what;
  EXPECT_FALSE(*none) << "it ends when its time is over";
  EXPECT_TRUE(fs::exists("/tmp/run/img/i/home"));
  auto gone = walls().removeDirectory("i", "home");
  while (gone && !*gone)
    gone = walls().removeDirectory("i", "home");
  ASSERT_TRUE(gone) << gone.error().message;
  EXPECT_FALSE(fs::exists("/tmp/run/img/i/home"));
  EXPECT_EQ(read("/tmp/precious/file"), "keep");
  EXPECT_EQ(read("/tmp/run/img/i/other/file"), "keep\n");
  EXPECT_TRUE(*walls().removeDirectory("i", "home"));
}

TEST_F(Mounts, ASourceIsReadOnlyUnlessItIsForLandingAndShowsNothingMountedBelow) {
  fs::create_directory("/tmp/lower/below");
  ASSERT_EQ(::mount("below", "/tmp/lower/below", "tmpfs", 0, nullptr), 0);
  write("/tmp/lower/below/secret", "x");
  const Fd source = directory("/tmp/lower");
  ASSERT_TRUE(walls().attachSource("s", source.get(), false));
  EXPECT_EQ(read("/tmp/run/src/s/file"), "base");
  EXPECT_FALSE(fs::exists("/tmp/run/src/s/below/secret"));
  EXPECT_NE(std::system("(echo x > /tmp/run/src/s/file) 2>/dev/null"), 0);
  ASSERT_TRUE(walls().attachSource("rw", source.get(), true));
  EXPECT_EQ(std::system("echo x > /tmp/run/src/rw/new"), 0);
  ASSERT_TRUE(walls().attachSource("mapped", source.get(), false, map));
  EXPECT_EQ(agent("cat /tmp/run/src/mapped/file"), 0);
  EXPECT_NE(agent("cat /tmp/run/src/s/file"), 0);
  for (const char* name : {"s", "rw", "mapped"})
    EXPECT_TRUE(walls().detachSource(name));
  EXPECT_TRUE(walls().list()->empty());
}

TEST_F(Mounts, ADirectorySwappedForALinkWhileItIsAttachedShowsNothingElse) {
  fs::create_directories("/tmp/bob/project");
  write("/tmp/bob/project/whose", "bob");
  fs::create_directory("/tmp/alice");
  write("/tmp/alice/whose", "alice");
  ASSERT_EQ(::symlink("/tmp/alice", "/tmp/bob/link"), 0);
  const pid_t swapper = ::fork();
  if (swapper == 0)
    for (;;)
      ::renameat2(AT_FDCWD, "/tmp/bob/project", AT_FDCWD, "/tmp/bob/link", RENAME_EXCHANGE);
  int turns = 0;
  while (turns < 1000) {
    // What bob's own unit opened while he swapped it: a directory of his, or nothing.
    const Fd source(::open("/tmp/bob/project", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!source) {
      ::sched_yield();
      continue;
    }
    ++turns;
    const auto attached = walls().attachSource("s", source.get(), false);
    ASSERT_TRUE(attached) << attached.error().message;
    ASSERT_EQ(read("/tmp/run/src/s/whose"), "bob");
    ASSERT_TRUE(walls().detachSource("s"));
  }
  ::kill(swapper, SIGKILL);
  ::waitpid(swapper, nullptr, 0);
}

}  // namespace
}  // namespace coffer::walls::test
