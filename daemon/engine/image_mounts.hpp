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
/// into it. What happened is kept as a sentence until it has been told.
Async<std::expected<void, Error>> mountImages(Context& context, std::uint64_t task, std::uint32_t owner);

/// What happened to the images and no agent has been told yet, for the turn `step` that is about to begin: mostly
/// empty. From then on it counts as told to that turn's agent, unless that turn turns out to have been cut off.
std::expected<std::string, Error> tellTurn(Context& context, std::uint64_t task, const std::string& step);

/// What the agent of the turn was told so: for the person, when the turn has ended.
std::string toldInTurn(const Context& context, std::uint64_t task, const std::string& step);

/// Unmounts both, and takes the mark away when both are gone.
std::expected<void, Error> unmountImages(Context& context, std::uint64_t task);

/// Whether the task's image was made anew and its writer's workspace not yet: it then has to be brought to the last
/// import. forgetLost() ends that.
bool imageLost(const Context& context, std::uint64_t task);
std::expected<void, Error> forgetLost(const Context& context, std::uint64_t task);

}  // namespace coffer::engine
