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

/// Fix rounds of a task when nobody says otherwise. When they are used up the task goes to the person.
inline constexpr std::uint64_t kRounds = 3;

/// Fix rounds a person may ask for. More is refused with Limit.
inline constexpr std::uint64_t kRoundsMost = 20;

/// Passing troubles of a provider in a row before a task waits for a person instead of a clock.
inline constexpr std::uint64_t kTroubles = 4;

/// Times in a row that a step is run again because the system manager forgot it (reboot, crash) before the task waits
/// for a person.
inline constexpr std::uint64_t kInterruptions = 5;

/// Bytes of a task's title; whoever makes the task controls it. A longer one is cut.
inline constexpr std::size_t kTitleBytes = 200;

/// Bytes of a sentence about a failure that is kept in an event. A longer one is cut.
inline constexpr std::size_t kWordsBytes = 2000;

/// Characters of a plan's summary. A plan with a longer one is sent back to the planner.
inline constexpr std::size_t kSummaryCharacters = 72;

}  // namespace coffer::limits
