#pragma once

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "model/uid_range.hpp"
#include "walls/client.hpp"
#include "walls/server.hpp"

namespace coffer::walls::test {

inline constexpr std::uint32_t kWorker = 0x7A0E0001;
inline constexpr std::uint32_t kAgent = 0x7A000001;

/// The server in this process, in a mount and a network namespace of its own that play the host's, with a runtime
/// directory on a tmpfs of its own. As root, like the program.
class Machine {
 public:
  Machine() {
    EXPECT_EQ(::geteuid(), 0U) << "these tests make namespaces and mounts: run them in tests/machine/enter";
    EXPECT_EQ(::unshare(CLONE_NEWNS | CLONE_NEWNET), 0);
    EXPECT_EQ(::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr), 0);
    EXPECT_EQ(::mount("test", "/tmp", "tmpfs", 0, "mode=0755"), 0);
    const Fd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    ifreq lo{};
    std::string("lo").copy(lo.ifr_name, IFNAMSIZ - 1);
    lo.ifr_flags = IFF_UP;
    EXPECT_EQ(::ioctl(socket.get(), SIOCSIFFLAGS, &lo), 0);
    std::filesystem::create_directory(base());
    start(FdStore());
  }
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;
  ~Machine() { end(); }

  static std::string base() { return "/tmp/run"; }

  void start(FdStore store) {
    auto walls = Walls::open(base(), store);
    ASSERT_TRUE(walls) << walls.error().message;
    hostTable_ = ::fcntl(walls->hostTable().socket(), F_DUPFD_CLOEXEC, 0);
    int pair[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    auto server = std::make_unique<Server>(std::move(*walls), Fd());
    server->addConnection(Fd(pair[0]));
    int raw[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, raw), 0);
    server->addConnection(Fd(raw[0]));
    raw_ = Fd(raw[1]);
    client_ = std::make_unique<WallsClient>(Fd(pair[1]));
    thread_ = std::jthread([server = std::move(server)](const std::stop_token& stop) {
      while (!stop.stop_requested())
        server->turn(20);
    });
  }
  /// As kill -9: the kernel's things stay, the process's descriptors go.
  void end() {
    thread_ = {};
    client_.reset();
  }

  WallsClient& client() { return *client_; }
  const Fd& raw() { return raw_; }
  int hostTable() const { return hostTable_; }

 private:
  std::jthread thread_;
  std::unique_ptr<WallsClient> client_;
  Fd raw_;
  int hostTable_ = -1;
};

class WallsTest : public testing::Test {
 protected:
  Machine machine;
  WallsClient& walls() { return machine.client(); }
};

/// Runs `work` in a child with that uid (0: root) in the network namespace pinned at `netns` (empty: this one); its
/// result is the child's exit code.
template <class Work>
int asUid(std::uint32_t uid, const std::string& netns, Work work) {
  const pid_t child = ::fork();
  if (child == 0) {
    if (!netns.empty()) {
      const int ns = ::open((Machine::base() + "/netns/" + netns).c_str(), O_RDONLY | O_CLOEXEC);
      if (ns < 0 || ::setns(ns, CLONE_NEWNET) != 0) ::_exit(200);
    }
    if (uid != 0 && (::setgid(uid) != 0 || ::setuid(uid) != 0)) ::_exit(201);
    ::_exit(work());
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

/// errno of connecting to (or, for datagrams, sending to) an address, 0 when it went.
inline int reach(int type, const char* address, std::uint16_t port) {
  sockaddr_in6 six{};
  sockaddr_in four{};
  const bool isSix = ::inet_pton(AF_INET6, address, &six.sin6_addr) == 1;
  six.sin6_family = AF_INET6;
  six.sin6_port = htons(port);
  if (!isSix) ::inet_pton(AF_INET, address, &four.sin_addr);
  four.sin_family = AF_INET;
  four.sin_port = htons(port);
  const Fd socket(::socket(isSix ? AF_INET6 : AF_INET, type | SOCK_CLOEXEC, 0));
  const timeval limit{.tv_sec = 5, .tv_usec = 0};
  ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
  const auto* to = isSix ? reinterpret_cast<const sockaddr*>(&six) : reinterpret_cast<const sockaddr*>(&four);
  const socklen_t size = isSix ? sizeof(six) : sizeof(four);
  const auto result =
      type == SOCK_STREAM ? ::connect(socket.get(), to, size) : ::sendto(socket.get(), "x", 1, 0, to, size);
  return result < 0 ? errno : 0;
}

inline Fd listenOn(const char* address, std::uint16_t port) {
  sockaddr_in four{};
  four.sin_family = AF_INET;
  four.sin_port = htons(port);
  ::inet_pton(AF_INET, address, &four.sin_addr);
  Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&four), sizeof(four)), 0);
  EXPECT_EQ(::listen(socket.get(), 16), 0);
  return socket;
}

inline std::string shell(const std::string& command) {
  std::unique_ptr<FILE, int (*)(FILE*)> pipe(::popen(command.c_str(), "re"), ::pclose);
  std::string text;
  char buffer[4096];
  while (pipe && std::fgets(buffer, sizeof(buffer), pipe.get()) != nullptr)
    text += buffer;
  return text;
}

}  // namespace coffer::walls::test
