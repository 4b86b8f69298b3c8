#include <cstdio>
#include <string>
#include <string_view>

#include "workers/listen_fds.hpp"
#include "workers/resolver/server.hpp"

// coffer-resolver: the DNS server inside a sandbox that has no network. It says no to every name, at once, and writes
// down which names those were. Its sockets come with the unit, under the names `dns-udp` and `dns-tcp`.

int main(int argc, char** argv) {
  std::string out = "/out";
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view option(argv[i]);
    if (option == "--out")
      out = argv[i + 1];
    else if (option != "--in")
      return 2;
  }
  coffer::Fd udp(coffer::workers::listenFd("dns-udp").value_or(-1));
  coffer::Fd tcp(coffer::workers::listenFd("dns-tcp").value_or(-1));
  if (!udp) {
    std::fprintf(stderr, "coffer-resolver: no socket named dns-udp came with the unit\n");
    return 1;
  }
  coffer::resolver::Server server(std::move(udp), std::move(tcp), out);
  const auto done = server.run();
  if (done) return 0;
  std::fprintf(stderr, "coffer-resolver: %s\n", done.error().message.c_str());
  return 1;
}
