#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>

#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "walls/fd_store.hpp"
#include "walls/server.hpp"
#include "walls/walls.hpp"

namespace {

int stop(const coffer::walls::Fault& fault) {
  std::cerr << SD_ERR "coffer-walls cannot run: " << fault.message << '\n';
  sd_notifyf(0, "STATUS=%s\nERRNO=%d", fault.message.c_str(), fault.errnum);
  return EXIT_FAILURE;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace coffer::walls;
  if (argc == 2 && std::string_view(argv[1]) == "--take-down") {
    auto down = Walls::takeDown(std::string(kRuntimeDirectory));
    if (!down) std::cerr << "coffer-walls: " << down.error().message << '\n';
    return down ? EXIT_SUCCESS : EXIT_FAILURE;
  }
  if (argc != 1) {
    std::cerr << "coffer-walls takes no argument; --take-down is for the removal of the package\n";
    return 2;
  }
  if (::geteuid() != 0)
    return stop({coffer::ErrorCode::AccessDenied, EPERM, "it has to be started by the service manager, as root"});

  FdStore store = FdStore::fromServiceManager();
  coffer::Fd listener = store.take("socket");
  auto walls = Walls::open(std::string(kRuntimeDirectory), store);
  if (!walls) return stop(walls.error());
  const std::string path(kSocketPath);
  if (!Server::listensAt(listener, path)) {
    FdStore::drop("socket");
    auto made = Server::listenAt(path);
    if (!made) return stop(made.error());
    listener = std::move(*made);
    FdStore::put("socket", listener.get());
  }

  Server server(std::move(*walls), std::move(listener));
  sd_notify(0, "READY=1\nSTATUS=Serving cofferd.");
  std::uint64_t watchdog = 0;
  const bool watched = sd_watchdog_enabled(0, &watchdog) > 0;
  // Twice per interval, as sd_watchdog_enabled(3) advises; otherwise asleep until somebody asks.
  const int wait = watched ? static_cast<int>(watchdog / 2 / 1000) : -1;
  for (;;) {
    server.turn(wait);
    if (watched) sd_notify(0, "WATCHDOG=1");
  }
}
