#pragma once

#include <cstdint>
#include <optional>

#include "os/fd.hpp"
#include "walls/fault.hpp"
#include "walls/user_namespace.hpp"

/// Detached mounts, made from descriptors only: no path of anybody is walked. They vanish with their descriptor until
/// attached.
namespace coffer::walls {

/// A clone of the one mount that `directory` is on, seen from that directory: nosuid, nodev, read-only unless
/// `writable`, with owners mapped if asked. Mounts below are not in it. What happens to the directory's name afterwards
/// does not matter.
Result<Fd> cloneDirectory(int directory, bool writable, const std::optional<OwnerMap>& map);

/// A pin for a namespace: a mount that keeps it alive.
Result<Fd> cloneNamespace(int ns);

/// The ext4 file system on a block device (a path below /dev, of ours): nosuid, nodev, noatime.
Result<Fd> mountExt4(const char* device, bool noExec);

/// Overlay of upper and work (directories of one file system) on `lower`, all attached: nosuid, nodev. Copies up with
/// the credentials of this process, now.
Result<Fd> mountOverlay(int lower, int upper, int work, bool readOnly);

}  // namespace coffer::walls
