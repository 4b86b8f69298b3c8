#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/check.hpp"
#include "engine/context.hpp"
#include "os/async.hpp"
#include "walls/request.hpp"

namespace coffer::engine {

/// Which cgroup controllers this machine lacks, of those that limits need: memory, pids.
std::vector<std::string> missingControllers();

/// Of the kernel and its cgroups, which needs nobody's answer. `accepted`: controllers that may be missing.
std::vector<Check> kernelChecks(const std::vector<std::string>& accepted);

/// Everything a sandbox needs of this machine, tried: the kernel, its cgroups, the name service, and what coffer-walls
/// can make. It takes at most limits::kSystemCheckTime, with coffer-walls hanging too.
Async<std::vector<Check>> sandboxNeeds(Context& context, std::vector<std::string> accepted);

/// What coffer-walls says when it tries this, asked on a connection of its own and without holding up the loop: nothing
/// when it can be had, or why it cannot. An error is that there is no answer.
Async<std::expected<std::optional<Error>, Error>> tryWalls(Context& context, walls::Flag what);

/// The first that fails; nothing when none does.
std::optional<Check> firstFailed(const std::vector<Check>& checks);

/// Success when all of it is there and the uids are ours alone; otherwise Sandbox, with the words of the first that
/// fails.
Async<std::expected<void, Error>> needsMet(Context& context, std::vector<std::string> accepted);

}  // namespace coffer::engine
