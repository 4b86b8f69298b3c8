#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dictionary.hpp"
#include "format.hpp"

/// What the bus says about one task, as lines for a person. Texts in them are visible.
namespace coffer::cli {

/// The branch a task started from, as people name it; empty for a detached HEAD.
std::string baseBranch(const Dictionary& task);

/// What has landed: each "COMMIT on BRANCH in DIRECTORY".
std::vector<std::string> landingsOf(const Dictionary& task);

struct Field {
  std::string label;
  std::string value;
  Tone tone = Tone::Plain;
};

/// Where a task stands, what it was bound to, what it cost; fields without a value are left out. `now`: microseconds of
/// CLOCK_REALTIME for "3 min ago", or nothing where such words would grow old on the screen.
std::vector<Field> fieldsOf(const Dictionary& task, std::optional<std::uint64_t> now);

/// Labels and values in two columns.
std::vector<StyledLine> linesOf(const std::vector<Field>& fields);

/// The question that waits for an answer; nothing when there is none.
std::vector<StyledLine> questionLines(const Dictionary& task);

/// A table of the runs; nothing when there are none. `now`: how long a run that goes on takes so far, or nothing where
/// that would grow old on the screen. `width`: columns of the terminal, if there is one.
std::vector<StyledLine> runLines(const std::vector<Dictionary>& runs, std::optional<std::uint64_t> now,
                                 std::optional<std::size_t> width);

/// A table of what the task's sandboxes tried and were refused; nothing when that is nothing.
std::vector<StyledLine> refusalLines(const Dictionary& task, std::optional<std::size_t> width);

/// What gate and reviewers found, newest round first.
std::vector<StyledLine> findingLines(const std::vector<Dictionary>& findings);

}  // namespace coffer::cli
