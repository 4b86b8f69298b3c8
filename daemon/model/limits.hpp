#pragma once

#include <cstddef>
#include <cstdint>

/// Every quantity that somebody else controls, with its name. docs/limits.md is made from this file: the comment before a
/// constant is its row, so it says the unit, who controls the quantity, and what happens at the limit.
namespace coffer::limits {

/// Bytes of one text a person or an agent hands over (prompt, plan, question, reply, review). More is refused with TooLarge.
inline constexpr std::size_t kTextBytes = 256 * 1024;

/// Bytes of a worker's report. A longer one is a fault of the worker.
inline constexpr std::size_t kReportBytes = 8 * 1024 * 1024;

/// Records in a worker's request or report. More is a fault of the worker.
inline constexpr std::size_t kReportRecords = 65536;

/// Bytes of a diff that is shown. A longer one is cut and says so.
inline constexpr std::size_t kDiffBytes = 8 * 1024 * 1024;

/// Bytes of a log or transcript that is shown. A longer one is cut at the front and says so.
inline constexpr std::size_t kLogShownBytes = 8 * 1024 * 1024;

}  // namespace coffer::limits
