#pragma once

#include <cstdint>
#include <expected>
#include <string>

#include <systemd/sd-event.h>

#include "dbus/error.hpp"
#include "os/async.hpp"
#include "os/fd.hpp"
#include "sandbox/systemd.hpp"

namespace coffer::engine {

/// Opens a directory that a user named, as that user: a unit with their uid and groups and nothing else does it, so the
/// kernel says what they may reach. The descriptor is only ever given to coffer-walls, which clones the mount it is on;
/// it is never walked by name. NoRepository when there is nothing to open, AccessDenied when the kernel refused the
/// user. `unit` is the name of the unit without suffix, `path` is bytes.
Async<std::expected<Fd, Error>> openAsOwner(sd_event* event, sandbox::Systemd& systemd, std::string unit,
                                            std::uint32_t owner, std::string path);

}  // namespace coffer::engine
