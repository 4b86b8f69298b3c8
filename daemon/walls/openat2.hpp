#pragma once

#include <string>

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "os/fd.hpp"

namespace coffer::walls {

/// Opens `name` in a directory without following a link or leaving the mount; invalid with errno set when it cannot.
inline Fd openInside(int directory, const std::string& name, unsigned flags) {
  open_how how{};
  how.flags = flags | O_CLOEXEC | O_NOFOLLOW;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV;
  return Fd(static_cast<int>(::syscall(SYS_openat2, directory, name.c_str(), &how, sizeof(how))));
}

}  // namespace coffer::walls
