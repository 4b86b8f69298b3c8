#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <vector>

#include <systemd/sd-event.h>

#include "dbus/error.hpp"
#include "engine/context.hpp"
#include "engine/places.hpp"
#include "os/async.hpp"
#include "os/fd.hpp"
#include "sandbox/sealed.hpp"
#include "sandbox/systemd.hpp"
#include "walls/client.hpp"

namespace coffer::engine {

/// A directory that a user named, opened as that user.
struct OwnerDirectory {
  Fd directory;
  Fd common;  ///< of a linked worktree: the git directory of its repository, else none
  Fd own;     ///< of a linked worktree: its own git directory, else none
};

/// Opens a directory that a user named, as that user: a unit with their uid and groups and nothing else does it, so the
/// kernel says what they may reach. The descriptors are only ever given to coffer-walls, which clones the mounts they
/// are on; they are never walked by name. NoRepository when there is nothing to open, AccessDenied when the kernel
/// refused the user, NotFound when the uid is nobody's or another person's now. `unit` is the name of the unit without
/// suffix, `path` is bytes.
Async<std::expected<OwnerDirectory, Error>> openAsOwner(Context& context, std::string unit, std::uint32_t owner,
                                                        std::string path);

/// What a unit that reads or writes an owner's checkout is given.
struct OwnerSource {
  std::vector<sandbox::Bind> binds;  ///< /in/source, and of a linked worktree /in/source-common and /in/source-own
  std::vector<std::string> locked;   ///< what in them stays read-only
  std::vector<std::string> pinned;   ///< directories above that, which stay writable and where they are
};

/// Has the directories cloned as `name` and names beside it; a clone that an earlier run left goes first, so that what
/// is given is what was just opened.
std::expected<OwnerSource, Error> attachOwner(walls::WallsClient& walls, const Places& places, const std::string& name,
                                              const OwnerDirectory& opened, bool writable);
std::expected<void, Error> detachOwner(walls::WallsClient& walls, const std::string& name);

}  // namespace coffer::engine
