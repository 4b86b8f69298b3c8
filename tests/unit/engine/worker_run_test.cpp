#include "engine/worker_run.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "model/limits.hpp"

namespace coffer::engine {
namespace {

std::uint64_t secondsOf(const std::string& program, bool asOwner) {
  WorkerRun run;
  run.unit = "coffer-17-0-snapshot-1-export";
  run.program = program;
  run.asOwner = asOwner;
  const auto unit = unitOf(run, "/in", "/out");
  const auto found = std::ranges::find(unit.properties, "RuntimeMaxUSec", &sandbox::Property::name);
  return found == unit.properties.end() ? 0 : std::get<std::uint64_t>(found->value) / 1'000'000;
}

TEST(WorkerRun, HasTheTimeThatItsWorkerIsPromised) {
  EXPECT_EQ(secondsOf("coffer-repository", true), limits::kRepositorySeconds);
  EXPECT_EQ(secondsOf("coffer-repository", false), limits::kRepositorySeconds);
  EXPECT_EQ(secondsOf("coffer-collector", false), limits::kCollectSeconds);
}

}  // namespace
}  // namespace coffer::engine
