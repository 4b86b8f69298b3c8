#pragma once

#include <cerrno>
#include <string>

#include <fcntl.h>
#include <sys/stat.h>

#include "os/fd.hpp"

namespace coffer::os {

/// Opens the directory `name` (one component) in a directory, unless it is a link or something is mounted on it; none
/// with errno set when it cannot. (openat2(2) would say it in one call, but RestrictSUIDSGID= makes that ENOSYS, since
/// a filter cannot look into its argument.)
inline Fd openDirectoryInside(int directory, const std::string& name) {
  Fd opened(::openat(directory, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!opened) return opened;
  struct statx here{};
  struct statx there{};
  if (::statx(directory, "", AT_EMPTY_PATH, STATX_MNT_ID, &here) != 0 ||
      ::statx(opened.get(), "", AT_EMPTY_PATH, STATX_MNT_ID, &there) != 0)
    return Fd();
  if (here.stx_mnt_id != there.stx_mnt_id) {
    opened.reset();
    errno = EXDEV;
  }
  return opened;
}

}  // namespace coffer::os
