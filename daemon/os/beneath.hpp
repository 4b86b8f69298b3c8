#pragma once

#include <cstddef>
#include <expected>
#include <string>
#include <string_view>

#include <sys/types.h>

#include "dbus/error.hpp"
#include "os/fd.hpp"

namespace coffer::os {

/// Opens `path` beneath the directory, following no link, magic link or mount out of it. `flags` as for open(2).
std::expected<Fd, Error> openBeneath(int directory, std::string_view path, int flags, mode_t mode = 0);

/// Opens a directory of our own by absolute path (never a path of a user), for use as the start of openBeneath().
std::expected<Fd, Error> openDirectory(const std::string& path);

/// Reads a whole file beneath the directory: regular, one link, at most `limit` bytes. Its bytes are moved, never
/// interpreted. TooLarge when it is longer, NotFound when it is not there, Sandbox when it is anything but a plain
/// file.
std::expected<std::string, Error> readBeneath(int directory, std::string_view path, std::size_t limit);

/// Writes a file of our own: `name` in the directory, complete or not at all (temporary name, fsync when `durable`,
/// rename).
std::expected<void, Error> writeFile(int directory, const std::string& name, std::string_view bytes, mode_t mode,
                                     bool durable = false);

/// Makes the directory `name` if it is not there and opens it; owner and mode are set only on what it made.
std::expected<Fd, Error> makeDirectory(int parent, const std::string& name, mode_t mode, uid_t uid = 0, gid_t gid = 0);

/// Removes `name` in `parent` and everything below it, by descriptor: no link is followed, no mount is crossed (a mount
/// point found on the way is an error that names it), foreign directories are taken over before they are emptied.
/// Missing is success.
std::expected<void, Error> removeTree(int parent, const std::string& name);

}  // namespace coffer::os
