#pragma once

#include <cerrno>
#include <expected>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "dbus/error.hpp"

namespace coffer::walls {

/// Why a verb failed, as it goes into a reply.
struct Fault {
  ErrorCode code = ErrorCode::Internal;
  int errnum = 0;
  std::string message;
};

template <class T>
using Result = std::expected<T, Fault>;

/// A refusal of ours, without an errno.
inline std::unexpected<Fault> refuse(ErrorCode code, std::string message) {
  return std::unexpected(Fault{code, 0, std::move(message)});
}

/// A system call that failed with `errnum`; `what` says what was being done.
inline std::unexpected<Fault> failed(int errnum, std::string_view what) {
  ErrorCode code = ErrorCode::Sandbox;
  switch (errnum) {
    case ENOSPC:
    case EDQUOT:
      code = ErrorCode::NoSpace;
      break;
    case EBUSY:
      code = ErrorCode::Busy;
      break;
    case ENOSYS:
    case EOPNOTSUPP:
    case EPROTONOSUPPORT:
    case EAFNOSUPPORT:
      code = ErrorCode::Unsupported;
      break;
    case ENOMEM:
    case EMFILE:
    case ENFILE:
    case ENOBUFS:
      code = ErrorCode::Environment;
      break;
    default:
      break;
  }
  return std::unexpected(Fault{code, errnum, std::string(what) + ": " + std::generic_category().message(errnum)});
}

/// The same with the errno of the call just made.
inline std::unexpected<Fault> failed(std::string_view what) { return failed(errno, what); }

}  // namespace coffer::walls
