#pragma once

#include <cstddef>
#include <cstdint>

/// Every quantity that somebody else controls, with its name. docs/limits.md is made from this file: the comment before
/// a constant is its row, so it says the unit, who controls the quantity, and what happens at the limit.
namespace coffer::limits {

/// Bytes of one text a person or an agent hands over (prompt, plan, question, reply, review). More is refused with
/// TooLarge.
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

/// Bytes of one file of ours or of the administrator's (descriptor, flow, provider, prompt, configuration). A longer
/// one is a bad file.
inline constexpr std::size_t kDataFileBytes = 256 * 1024;

/// Rules of one agent's descriptor that select lines, and that tell errors apart. More is a bad file.
inline constexpr std::size_t kProtocolRules = 64;

/// Bytes of a word an agent or a person chooses that becomes part of an agent's command (session, model). A longer one
/// is refused.
inline constexpr std::size_t kAgentWordBytes = 256;

/// Bytes of one line of an agent's output that is parsed. A longer one is skipped and counted.
inline constexpr std::size_t kOutputLineBytes = 1024 * 1024;

/// Lines of an agent's output that are no JSON and are put into the transcript. The others are counted.
inline constexpr std::size_t kGarbageLinesShown = 100;

/// Bytes of all files an agent leaves in one turn. What is over it is refused, in the order of the files' weight.
inline constexpr std::size_t kExchangeBytes = 4 * 1024 * 1024;

/// Bytes of a turn's transcript; the middle of a longer one is left out. One entry of it; the same.
inline constexpr std::size_t kTranscriptBytes = 8 * 1024 * 1024;
inline constexpr std::size_t kTranscriptEntryBytes = 64 * 1024;

/// Criteria of a plan. A plan with more is refused.
inline constexpr std::size_t kPlanCriteria = 200;

/// Findings of one review, and sentences on what was checked. A review with more is refused; a longer title or text is
/// cut.
inline constexpr std::size_t kFindings = 200;
inline constexpr std::size_t kFindingTitleBytes = 300;
inline constexpr std::size_t kFindingTextBytes = 16 * 1024;

/// Bytes of a path in a finding. A longer one is refused.
inline constexpr std::size_t kPathBytes = 4096;

}  // namespace coffer::limits
