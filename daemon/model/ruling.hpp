#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "model/decide.hpp"
#include "model/limits.hpp"
#include "model/spelling.hpp"

namespace coffer::model {

/// A decision in the making: every event that is told is applied at once, so that the next rule sees the task as it
/// will be.
class Ruling {
 public:
  Ruling(const Task& task, std::uint64_t at) : task_(task), at_(at) {}

  [[nodiscard]] const Task& task() const { return task_; }
  void tell(std::string type, Payload payload = {});

  // Steps. Each is told as "step-opened" with the name that is next in its lap.
  void openSnapshot();
  void openRestore();
  void openTurn(Role role, TurnKind kind, std::map<std::string, std::string> more = {});
  void openReview();  ///< a review that begins, in a conversation of its own where the flow wants that
  void openImport();
  void openGate();
  void openDiff();
  void openLand();
  void openCleanUp();
  void openErase();
  void openAgain(Step step);  ///< the same, as its next attempt

  /// The first thing that is missing between a snapshot and work that can be shown.
  void goOn();

  void park(Parked reason, std::string_view code, std::string words, std::uint64_t until = 0);

  // What several facts lead to.
  /// A plan that can be used waits for the person, or for nobody.
  void planReady(const std::string& digest, const std::string& summary);
  void acceptPlan(std::string_view by);
  void acceptWork(std::string_view by, const std::string& branch);
  void askQuestion(const std::string& digest, Role role);
  /// A fix round when one is left. False: none is left, nothing was told.
  bool startRound(TurnKind kind, std::string reason, std::map<std::string, std::string> more);
  /// Tells that the step was interrupted and runs it again, or parks when it was too often.
  void runAgain(std::string type, std::string words);

  [[nodiscard]] Decision take() &&;

 private:
  void open(Step step);

  Task task_;
  std::uint64_t at_;
  Decision decision_;
};

/// "task 17"
std::string nameOf(const Task& task);
/// "writing, parked: question"
std::string standing(const Task& task);
/// As much of a sentence as an event keeps.
std::string shortened(std::string_view text);

}  // namespace coffer::model
