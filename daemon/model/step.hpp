#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "model/turn.hpp"

namespace coffer::model {

/// What the engine does next.
enum class StepKind {
  Snapshot,  ///< take the owner's repository into the project's store
  Restore,   ///< make anew what an ended task's work went on in, for its commits and texts are all that was kept
  Turn,      ///< one run of an agent
  Import,    ///< take the writer's commits in and make the candidate
  Gate,      ///< build and test the candidate
  Diff,      ///< make what the person will be shown
  Land,      ///< write the candidate into the owner's repository
  CleanUp,   ///< stop what runs and take away everything but the history
  Erase,     ///< after Delete: the transcripts and logs too
};

/// One step, found again by its name after a crash. A task has at most one open step.
struct Step {
  StepKind kind = StepKind::Snapshot;
  /// Names: "coffer-TASK-LAP-ROLE-ATTEMPT" (the unit's name without its suffix); unique in the life of a task. A lap is
  /// a fix round or a reply, counted over the whole life and never set back, unlike the budget's count of rounds.
  std::string name;
  std::uint64_t lap = 0;
  std::uint64_t attempt = 1;  ///< of this role in this lap, from 1
  std::uint64_t round = 0;    ///< of the budget when the step was opened

  Role role = Role::Writer;  ///< Turn
  TurnKind turn = TurnKind::Write;
  std::string conversation;  ///< letter, "A", "B", "C2"

  std::string base;       ///< commit
  std::string candidate;  ///< commit: Gate, review turns, Diff, Land
  std::string branch;     ///< Land: where to; empty = the branch the task started from
  /// What a turn reads, name -> digest of a text in the store: prompt, plan, question, feedback, review, problem; and
  /// all comments of the task.
  std::map<std::string, std::string> inputs;

  bool operator==(const Step&) const = default;
};

/// The ROLE part of the name: planner, writer, reviewer, snapshot, restore, import, gate, diff, land, cleanup, erase.
std::string roleWord(const Step& step);
/// The name a step of this task, lap, role word and attempt has.
std::string stepName(std::uint64_t task, std::uint64_t lap, const std::string& roleWord, std::uint64_t attempt);

}  // namespace coffer::model
