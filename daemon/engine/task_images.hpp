#pragma once

#include <cstdint>
#include <expected>
#include <string>

#include "dbus/error.hpp"
#include "engine/context.hpp"
#include "os/async.hpp"

namespace coffer::engine {

/// The image of a task and the one of its output. A size is formatted once, as a plain file and by a worker; a task
/// gets a copy of it, which is as long and holds no more than the parts that were written. Sizes in bytes.
Async<std::expected<void, Error>> makeImages(Context& context, std::uint64_t task, std::uint32_t owner,
                                             std::uint64_t taskBytes, std::uint64_t outputBytes);

/// One of them, made in the place of whatever has that name.
Async<std::expected<void, Error>> makeImage(Context& context, std::uint64_t task, std::uint32_t owner, std::string file,
                                            std::uint64_t bytes);

}  // namespace coffer::engine
