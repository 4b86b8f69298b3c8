#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace coffer::cli {

inline constexpr std::size_t kOutputBytes = 64 * 1024;

/// Standard output of a command without its last line end, or nothing when it failed or is not there. Runs as the user,
/// in `directory`; standard input and error are closed to it. Output of more than kOutputBytes is cut somewhere behind
/// that.
std::optional<std::string> outputOf(const std::vector<std::string>& command, const std::string& directory);

/// Runs a command on the user's terminal; its exit code, or 128 and the signal's number, or 127 when it is not there.
int runInteractive(const std::vector<std::string>& command);

/// Runs a command on the user's terminal with a text as its input and with defaults for its environment (NAME=VALUE,
/// which do not replace what is set). False when it could not be run.
bool runWithInput(const std::vector<std::string>& command, std::string_view input,
                  const std::vector<std::string>& defaults);

}  // namespace coffer::cli
