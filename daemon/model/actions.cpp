#include "model/actions.hpp"

#include "model/rules.hpp"
#include "model/spelling.hpp"

namespace coffer::model {

std::vector<std::string> actions(const Task& task) {
  std::vector<std::string> names;
  if (canAcceptPlan(task)) names.emplace_back("accept-plan");
  if (canAcceptWork(task)) names.emplace_back("accept-work");
  if (canReply(task)) names.emplace_back("reply");
  if (canRetry(task)) names.emplace_back("retry");
  if (canCancel(task)) names.emplace_back("cancel");
  if (canDelete(task)) names.emplace_back("delete");
  return names;
}

std::vector<std::pair<std::string, std::string>> pending(const Task& task) {
  std::vector<std::pair<std::string, std::string>> waits;
  if (canAcceptPlan(task)) waits.emplace_back("plan", task.plan);
  if (canAcceptWork(task)) waits.emplace_back("work", task.workDigest);
  if (task.parked.reason == Parked::Question) waits.emplace_back("question", task.question);
  return waits;
}

Waiting waiting(const Task& task) {
  if (task.parked.reason != Parked::No)
    return {.code = task.parked.code, .words = task.parked.words, .until = task.parked.until};
  if (canAcceptPlan(task))
    return {.code = "plan", .words = "The plan waits for your word: read it, then accept it or reply."};
  if (canAcceptWork(task))
    return {.code = "work", .words = "The work waits for your word: look at it, then accept it or reply."};
  return {};
}

bool needsPerson(const Task& task) {
  switch (task.parked.reason) {
    case Parked::No:
      return canAcceptPlan(task) || canAcceptWork(task);
    case Parked::Quota:
    case Parked::Retry:
      return task.parked.until == 0;
    default:
      return true;
  }
}

}  // namespace coffer::model
