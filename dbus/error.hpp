#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace coffer {

/// Every way a call can be refused. Daemon, command line and notifier share this list: a code has one D-Bus name and
/// one exit code, and a number never changes its meaning.
enum class ErrorCode {
  AccessDenied,
  UnknownObject,
  NotFound,
  InvalidArgument,
  TooLarge,
  Limit,
  NoRepository,
  NoCommit,
  RepositoryUnsupported,
  BaseGone,
  NameTaken,
  NoCommand,
  NoAgent,
  NoProvider,
  Stale,
  AlreadyDecided,
  WrongState,
  Busy,
  Dirty,
  NoSpace,
  Sandbox,
  Unsupported,
  Environment,
  ProviderUnreachable,
  Cancelled,
  Internal,
};

/// What went wrong: the code for programs, the message for people (what, why, what to do), without a trailing newline.
struct Error {
  ErrorCode code = ErrorCode::Internal;
  std::string message;
};

/// Exit codes of the command line; see cli/ and docs.
enum class ExitCode : int {
  Done = 0,
  Failed = 1,
  Usage = 2,
  NotAllowed = 3,
  NotFound = 4,
  Stale = 5,
  NeedsYou = 6,
  NoDaemon = 7
};

struct ErrorEntry {
  ErrorCode code;
  std::string_view name;  ///< the last part of the D-Bus error name
  ExitCode exit;
};

inline constexpr std::string_view kErrorPrefix = "org.cofferdam.Cofferdam1.Error.";

inline constexpr std::array kErrors = std::to_array<ErrorEntry>({
    {ErrorCode::AccessDenied, "AccessDenied", ExitCode::NotAllowed},
    {ErrorCode::UnknownObject, "UnknownObject", ExitCode::NotFound},
    {ErrorCode::NotFound, "NotFound", ExitCode::NotFound},
    {ErrorCode::InvalidArgument, "InvalidArgument", ExitCode::Usage},
    {ErrorCode::TooLarge, "TooLarge", ExitCode::Failed},
    {ErrorCode::Limit, "Limit", ExitCode::Failed},
    {ErrorCode::NoRepository, "NoRepository", ExitCode::NotFound},
    {ErrorCode::NoCommit, "NoCommit", ExitCode::Failed},
    {ErrorCode::RepositoryUnsupported, "RepositoryUnsupported", ExitCode::Failed},
    {ErrorCode::BaseGone, "BaseGone", ExitCode::Stale},
    {ErrorCode::NameTaken, "NameTaken", ExitCode::Failed},
    {ErrorCode::NoCommand, "NoCommand", ExitCode::Failed},
    {ErrorCode::NoAgent, "NoAgent", ExitCode::Failed},
    {ErrorCode::NoProvider, "NoProvider", ExitCode::Failed},
    {ErrorCode::Stale, "Stale", ExitCode::Stale},
    {ErrorCode::AlreadyDecided, "AlreadyDecided", ExitCode::Stale},
    {ErrorCode::WrongState, "WrongState", ExitCode::Failed},
    {ErrorCode::Busy, "Busy", ExitCode::Failed},
    {ErrorCode::Dirty, "Dirty", ExitCode::Failed},
    {ErrorCode::NoSpace, "NoSpace", ExitCode::Failed},
    {ErrorCode::Sandbox, "Sandbox", ExitCode::Failed},
    {ErrorCode::Unsupported, "Unsupported", ExitCode::Failed},
    {ErrorCode::Environment, "Environment", ExitCode::Failed},
    {ErrorCode::ProviderUnreachable, "ProviderUnreachable", ExitCode::Failed},
    {ErrorCode::Cancelled, "Cancelled", ExitCode::Failed},
    {ErrorCode::Internal, "Internal", ExitCode::Failed},
});

constexpr const ErrorEntry& errorEntry(ErrorCode code) {
  for (const auto& entry : kErrors)
    if (entry.code == code) return entry;
  return kErrors.back();
}

/// The short name ("Stale") of a code, as workers and the bus spell it.
constexpr std::string_view errorName(ErrorCode code) { return errorEntry(code).name; }

/// The code of a short or full name; nothing for a name that is not ours.
constexpr std::optional<ErrorCode> errorCode(std::string_view name) {
  if (name.starts_with(kErrorPrefix)) name.remove_prefix(kErrorPrefix.size());
  for (const auto& entry : kErrors)
    if (entry.name == name) return entry.code;
  return std::nullopt;
}

}  // namespace coffer
