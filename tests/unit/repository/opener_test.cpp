#include <cstring>
#include <vector>

#include <fcntl.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "bench.hpp"
#include "os/fd.hpp"

namespace coffer::repository {
namespace {

/// The program that opens a directory as its owner: here its answer to a path.
class Opener : public Bench {
 protected:
  /// What it sends back, each as "DEVICE:INODE"; empty when the directory could not be opened.
  std::vector<std::string> open(const std::string& name) {
    int pair[2] = {-1, -1};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    Fd mine(pair[0]), theirs(pair[1]);
    const auto path = at(name);
    EXPECT_GT(::send(mine.get(), path.data(), path.size(), 0), 0);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, theirs.get(), 3);
    char program[] = COFFER_OPENER;
    char* const argv[] = {program, nullptr};
    pid_t child = -1;
    EXPECT_EQ(::posix_spawn(&child, program, &actions, nullptr, argv, nullptr), 0);
    ::posix_spawn_file_actions_destroy(&actions);
    theirs.reset();

    std::int32_t number = -1;
    iovec data{&number, sizeof number};
    alignas(cmsghdr) char control[CMSG_SPACE(8 * sizeof(int))] = {};
    msghdr message{};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    EXPECT_EQ(::recvmsg(mine.get(), &message, MSG_CMSG_CLOEXEC), static_cast<ssize_t>(sizeof number));
    std::vector<std::string> result;
    if (const auto* header = CMSG_FIRSTHDR(&message))
      for (std::size_t at = 0; CMSG_LEN(at + sizeof(int)) <= header->cmsg_len; at += sizeof(int)) {
        int received = -1;
        std::memcpy(&received, CMSG_DATA(header) + at, sizeof received);
        const Fd fd(received);
        result.push_back(identity(fd.get()));
      }
    mine.reset();
    int status = -1;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(number == 0, !result.empty());
    return result;
  }
  std::string id(const std::string& name) {
    const Fd fd(::open(at(name).c_str(), O_PATH));
    return identity(fd.get());
  }

 private:
  static std::string identity(int fd) {
    struct stat status{};
    EXPECT_EQ(::fstat(fd, &status), 0);
    return std::to_string(status.st_dev) + ":" + std::to_string(status.st_ino);
  }
};

TEST_F(Opener, OpensADirectoryAlone) {
  EXPECT_EQ(open("repo"), std::vector{id("repo")});
  EXPECT_TRUE(open("nothing").empty());
  EXPECT_TRUE(open("repo/file").empty());
}

TEST_F(Opener, FollowsALinkedWorktreeToItsRepository) {
  sh("git -C repo worktree add -q ../linked && git -C repo worktree add -q ../other");
  const std::vector all{id("linked"), id("repo/.git"), id("repo/.git/worktrees/linked")};
  EXPECT_EQ(open("linked"), all);
  sh("echo 'gitdir: ../repo/.git/worktrees/linked' >linked/.git && echo ../../../../linked/.git "
     ">repo/.git/worktrees/linked/gitdir");
  EXPECT_EQ(open("linked"), all) << "with relative paths";
}

TEST_F(Opener, ARedirectedGitfileLeadsNowhere) {
  sh("git -C repo worktree add -q ../linked && git -C repo worktree add -q ../other && cp -a "
     "repo/.git/worktrees/linked "
     "entry && cp linked/.git gitfile");
  const char* const cases[] = {
      "echo 'gitdir: ../repo/.git' >linked/.git",                      // a repository
      "cp other/.git linked/.git",                                     // somebody else's worktree
      "ln -f other/.git linked/.git",                                  // even the very same file
      "echo \"gitdir: $TOP/repo/.git/worktrees/other\" >linked/.git",  // the same, written anew
      "echo $TOP/other/.git >repo/.git/worktrees/linked/gitdir",       // it does not lead back
      "echo .. >repo/.git/worktrees/linked/commondir",                 // to what does not list it
      "rm repo/.git/worktrees/linked/commondir",                       // a submodule has none
      "cp -a entry mine && echo $TOP/repo/.git >mine/commondir && echo \"gitdir: $TOP/mine\" >linked/.git",  // an entry
                                                                                                             // of one's
                                                                                                             // own
      "yes | head -c 100000 >linked/.git",
  };
  for (const auto* script : cases) {
    sh("rm -rf linked/.git repo/.git/worktrees/linked && cp -a entry repo/.git/worktrees/linked && cp gitfile "
       "linked/.git");
    ASSERT_EQ(open("linked").size(), 3U);
    sh(script);
    EXPECT_TRUE(open("linked").empty()) << script;
    sh("rm -rf mine");
  }
  // What is no file is not followed at all; whoever reads the directory refuses it.
  for (const auto* script : {"ln -s $TOP/gitfile linked/.git", "mkfifo linked/.git"}) {
    sh(std::string("rm linked/.git && ") + script);
    EXPECT_EQ(open("linked"), std::vector{id("linked")}) << script;
  }
}

}  // namespace
}  // namespace coffer::repository
