#pragma once

#include "workers/worker.hpp"

namespace coffer::collector {

/// Verb `turn`: reads an ended turn and says what it came to.
///
/// Below IN: `request` (cofferd's), `stdout`, `stderr` (what the agent printed), `exchange/` (its /task/out).
/// Request records: `role`, `turn` (the model's words), `protocol.*` (Protocol::toRecords), `exit` (the status) and
/// `result` (PID 1's word, "success" or other) when known, `base.input`, `base.cached`, `base.output` (the sums of
/// `usage.*` over the conversation's earlier turns).
///
/// Report: `outcome` ok or failed, and when failed `error-class` and `error-text`; `session`, `text`, `usage.*`,
/// `lines*`; `question`, `plan*`, `review*` and `finding`, `answer`, `criteria`, `red`, `verify-proposal`,
/// `history-request`. Each group is told at the function that adds it. File OUT/transcript: text for people, also what
/// was not taken from exchange/ and why.
workers::Outcome collectTurn(const workers::Job& job);

/// Reads a plan that a person brings along: IN/exchange/plan.md. Report: the `plan*` records of collectTurn().
workers::Outcome collectPlan(const workers::Job& job);

}  // namespace coffer::collector
