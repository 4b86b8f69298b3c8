#include <array>

#include "workers/collector/turn.hpp"
#include "workers/worker.hpp"

namespace {

/// The longest outputs are read in seconds; what takes longer is stuck.
constexpr unsigned kSeconds = 120;

}  // namespace

int main(int argc, char** argv) {
  constexpr auto verbs = std::to_array<coffer::workers::Verb>(
      {{"turn", coffer::collector::collectTurn}, {"plan", coffer::collector::collectPlan}});
  return coffer::workers::runWorker(argc, argv, verbs, kSeconds);
}
