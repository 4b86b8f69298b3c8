#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include <sdbus-c++/Error.h>

#include "dbus/error.hpp"

namespace coffer::cli {

/// Why a command did not do what it was asked: one sentence, the command that helps next (or empty), and how it ends.
struct Failure {
  ExitCode exit = ExitCode::Failed;
  std::string name;     ///< the bus error's short name, or empty when it never came to a call
  std::string message;  ///< what, why, what to do; not yet made safe for a terminal
  std::string next;     ///< a command line, or empty
};

using Outcome = std::expected<ExitCode, Failure>;

/// A failure of what the user typed.
std::unexpected<Failure> usageFailure(std::string message, std::string next = {});
/// A failure of what was handed over as text (a prompt, a plan, a reply) and is none.
std::unexpected<Failure> notText(std::string_view what);
/// A failure of another kind that never reached the daemon.
std::unexpected<Failure> failure(ExitCode exit, std::string message, std::string next = {});

/// What a failed call means: the daemon's own sentence for our errors, one of ours for those of the bus. `task`: the
/// task it was about; `host`: the other machine, or empty.
Failure failureOf(const sdbus::Error& error, std::optional<std::uint64_t> task, const std::string& host);

/// The command as it reaches the machine it is about: `host` as in -H, or empty. Nothing when that cannot be said.
std::string there(std::string command, const std::string& host);

/// The command that helps after an error of this kind, or nothing.
std::string nextCommand(ErrorCode code, std::optional<std::uint64_t> task);

/// What it means that there is no bus or nobody owns our name on it.
Failure noDaemon(const std::string& host, const std::string& detail);

}  // namespace coffer::cli
