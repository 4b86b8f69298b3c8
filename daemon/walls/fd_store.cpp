#include "walls/fd_store.hpp"

#include <cstdlib>

#include <systemd/sd-daemon.h>

namespace coffer::walls {

FdStore FdStore::fromServiceManager() {
  FdStore store;
  char** names = nullptr;
  const int count = sd_listen_fds_with_names(1, &names);
  for (int i = 0; i < count; ++i) {
    Fd fd(SD_LISTEN_FDS_START + i);
    if (names != nullptr && names[i] != nullptr) {
      store.kept_.insert_or_assign(names[i], std::move(fd));
      std::free(names[i]);
    }
  }
  std::free(names);
  return store;
}

Fd FdStore::take(const std::string& name) {
  const auto node = kept_.extract(name);
  return node.empty() ? Fd() : std::move(node.mapped());
}

void FdStore::put(const std::string& name, int fd) {
  // FDPOLL=0: the manager would drop a socket that reports an error, and a netlink socket does so whenever its buffer
  // was full.
  sd_pid_notify_with_fds(0, 0, ("FDSTORE=1\nFDPOLL=0\nFDNAME=" + name).c_str(), &fd, 1);
}

void FdStore::drop(const std::string& name) { sd_notify(0, ("FDSTOREREMOVE=1\nFDNAME=" + name).c_str()); }

}  // namespace coffer::walls
