#pragma once

#include <cstdint>
#include <expected>
#include <string>

#include "dbus/error.hpp"
#include "engine/context.hpp"
#include "os/async.hpp"

namespace coffer::engine {

/// Mounts the task's image and the one of its output; what is mounted stays as it is. An image that was not unmounted
/// cleanly (a crash, a power cut) is checked first by e2fsck in a worker that sees nothing else, and made anew, empty,
/// when that cannot mend it. Whether it was unmounted cleanly is known by a mark of ours beside it, never by looking
/// into it. The value is what happened, as a sentence for the person and the agent; empty when nothing did.
Async<std::expected<std::string, Error>> mountImages(Context& context, std::uint64_t task, std::uint32_t owner);

/// Unmounts both, and takes the mark away when both are gone.
std::expected<void, Error> unmountImages(Context& context, std::uint64_t task);

/// Whether the task's image was made anew and its writer's workspace not yet: it then has to be brought to the last
/// import. forgetLost() ends that.
bool imageLost(const Context& context, std::uint64_t task);
std::expected<void, Error> forgetLost(const Context& context, std::uint64_t task);

}  // namespace coffer::engine
