#include "model/step.hpp"

#include "model/spelling.hpp"

namespace coffer::model {

std::string roleWord(const Step& step) {
  return std::string(step.kind == StepKind::Turn ? spell(step.role) : spell(step.kind));
}

std::string stepName(std::uint64_t task, std::uint64_t lap, const std::string& word, std::uint64_t attempt) {
  return "coffer-" + std::to_string(task) + "-" + std::to_string(lap) + "-" + word + "-" + std::to_string(attempt);
}

}  // namespace coffer::model
