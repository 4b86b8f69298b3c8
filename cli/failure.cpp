#include "failure.hpp"

#include <algorithm>
#include <array>
#include <format>
#include <string_view>

#include "format.hpp"

namespace coffer::cli {

namespace {

constexpr std::string_view kBusErrors = "org.freedesktop.DBus.Error.";

/// Names under which the bus says that nobody answers for us: no service, it did not start, it went away, no bus.
constexpr auto kNobodyThere = std::to_array<std::string_view>({
    "ServiceUnknown", "NameHasNoOwner", "NoReply", "Disconnected", "NoServer", "FileNotFound", "IOError",
    "TimedOut",  // the bus's, when it waited in vain for the service to start; a call without an answer is Timeout
});

bool nobodyThere(std::string_view name) {
  if (name.starts_with("org.freedesktop.systemd1.")) return true;
  if (!name.starts_with(kBusErrors)) return false;
  const auto last = name.substr(kBusErrors.size());
  return last.starts_with("Spawn.") || std::ranges::find(kNobodyThere, last) != kNobodyThere.end();
}

/// Numbers of errno reach us in two spellings.
bool isSystemError(std::string_view name, std::string_view code) {
  constexpr std::string_view kSystem = "System.Error.";
  return name.starts_with(kSystem) && name.substr(kSystem.size()) == code;
}

}  // namespace

std::unexpected<Failure> usageFailure(std::string message, std::string next) {
  return failure(ExitCode::Usage, std::move(message), std::move(next));
}

std::unexpected<Failure> notText(std::string_view what) {
  return usageFailure(
      std::format("The {} is not UTF-8 text, or has a zero byte in it. Convert it (iconv -t UTF-8), or put it into a "
                  "file of the repository and name that.",
                  what));
}

std::unexpected<Failure> failure(ExitCode exit, std::string message, std::string next) {
  return std::unexpected(Failure{exit, {}, std::move(message), std::move(next)});
}

std::string there(std::string command, const std::string& host) {
  constexpr std::string_view kProgram = "coffer ";
  if (host.empty() || command.empty()) return command;
  if (command.starts_with(kProgram)) return command.insert(kProgram.size(), "-H " + shellWord(host) + " ");
  // In which repository of the other machine is not known here.
  if (command.starts_with("git ")) return {};
  return std::format("ssh {} {}", shellWord(host), command);
}

std::string nextCommand(ErrorCode code, std::optional<std::uint64_t> task) {
  switch (code) {
    case ErrorCode::UnknownObject:
      return "coffer list --all";
    case ErrorCode::Stale:
    case ErrorCode::AlreadyDecided:
    case ErrorCode::WrongState:
    case ErrorCode::BaseGone:
    case ErrorCode::Cancelled:
      return task ? std::format("coffer show {}", *task) : "coffer list";
    case ErrorCode::NoCommand:
      return "coffer project set --help";
    case ErrorCode::NameTaken:
      return "coffer project list";
    case ErrorCode::NoAgent:
      return "coffer agent list";
    case ErrorCode::NoProvider:
      return "coffer provider add --help";
    case ErrorCode::ProviderUnreachable:
      return "coffer provider list";
    case ErrorCode::NoCommit:
      return "git commit";
    case ErrorCode::Dirty:
      return "git status";
    case ErrorCode::Busy:
      return "coffer list";
    case ErrorCode::Sandbox:
    case ErrorCode::Environment:
    case ErrorCode::Internal:
      return "journalctl -u cofferd";
    default:
      return {};
  }
}

Failure noDaemon(const std::string& host, const std::string& detail) {
  Failure result{.exit = ExitCode::NoDaemon};
  result.message = std::format("The Cofferdam service{} does not answer{}{}.", host.empty() ? "" : " on " + host,
                               detail.empty() ? "" : ": ", detail);
  result.next = there("systemctl status cofferd", host);
  return result;
}

Failure failureOf(const sdbus::Error& error, std::optional<std::uint64_t> task, const std::string& host) {
  const std::string& name = error.getName();
  const std::string& message = error.getMessage();
  if (const auto code = errorCode(name); code && name.starts_with(kErrorPrefix)) {
    const auto& entry = errorEntry(*code);
    Failure result{entry.exit, std::string(entry.name), message, {}};
    // The daemon's sentence already names a command where it knows a better one than this table.
    if (message.find("coffer ") == std::string::npos) result.next = there(nextCommand(*code, task), host);
    return result;
  }
  if (nobodyThere(name) || isSystemError(name, "ENOTCONN") || isSystemError(name, "ECONNRESET") ||
      isSystemError(name, "EPIPE") || isSystemError(name, "ESHUTDOWN")) {
    auto detail = message;
    while (detail.ends_with('.'))
      detail.pop_back();
    auto result = noDaemon(host, detail);
    result.name = name;
    // Somebody switched it off, and its status says no more than that.
    if (name == "org.freedesktop.systemd1.UnitMasked") result.next = there("systemctl unmask cofferd", host);
    return result;
  }
  const auto is = [&](std::string_view last) { return name == std::string(kBusErrors).append(last); };
  if (is("AccessDenied") || is("InteractiveAuthorizationRequired") || is("AuthFailed") ||
      isSystemError(name, "EACCES") || isSystemError(name, "EPERM"))
    return {ExitCode::NotAllowed, name, "Not allowed: " + message, {}};
  if (is("UnknownObject"))
    return {ExitCode::NotFound, name, message, there(nextCommand(ErrorCode::UnknownObject, task), host)};
  if (is("UnknownMethod") || is("UnknownInterface") || is("UnknownProperty"))
    return {ExitCode::Failed, name, "The running cofferd does not know this command; it is older than this coffer.",
            there("systemctl restart cofferd", host)};
  // What sdbus-c++ says of bytes that are no text, before they are sent.
  if (is("InvalidArgs") && message.starts_with("Failed to serialize"))
    return {ExitCode::Usage,
            name,
            "Something in the command is not UTF-8 text, and nothing else can be a name or an option.",
            {}};
  if (is("InvalidArgs")) return {ExitCode::Usage, name, message, {}};
  if (is("Timeout") || isSystemError(name, "ETIMEDOUT"))
    return {ExitCode::Failed, name, "The service did not answer in time; what was asked may still happen.",
            there("coffer list", host)};
  return {ExitCode::Failed, name, message.empty() ? name : message, {}};
}

}  // namespace coffer::cli
