#include "api/connections.hpp"

#include <gtest/gtest.h>

#include "model/limits.hpp"

namespace coffer::api::test {
namespace {

using std::chrono::microseconds;

TEST(Connections, seeWhatIsOthersOnlyForAWhile) {
  Connections::Clock::time_point now{};
  Connections connections(
      nullptr, [](sd_bus*, const std::string& sender) { return sender == ":1.0" ? 0U : 1000U; }, [&] { return now; });
  const auto sees = [&](const char* sender) { return connections.caller(sender)->administrator; };
  EXPECT_FALSE(sees(":1.1"));
  connections.makeAdministrator(":1.1");
  EXPECT_TRUE(sees(":1.1"));
  EXPECT_FALSE(sees(":1.2")) << "another connection of the same user";
  now += microseconds(limits::kSeeOtherTime - 1);
  EXPECT_TRUE(sees(":1.1"));
  now += microseconds(1);
  EXPECT_FALSE(sees(":1.1"));
  EXPECT_TRUE(sees(":1.0")) << "root needs nobody's answer";
  connections.makeAdministrator(":1.1");
  EXPECT_TRUE(sees(":1.1"));
}

}  // namespace
}  // namespace coffer::api::test
