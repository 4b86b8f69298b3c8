#include "agents/placeholder.hpp"

#include <array>

#include <gtest/gtest.h>

namespace coffer::agents {
namespace {

constexpr std::array<std::string_view, 2> kKnown = {"model", "key"};

TEST(Placeholder, LeavesBracesThatAreNoPlaceholderAlone) {
  const std::string_view json = R"({"options": {"key": "{key}"}, "models": {"{model}": {}}})";
  EXPECT_FALSE(unknownPlaceholder(json, kKnown));
  const auto values = std::to_array<Placeholder>({{"model", "m"}, {"key", "k"}});
  EXPECT_EQ(fillPlaceholders(json, values), R"({"options": {"key": "k"}, "models": {"m": {}}})");
}

TEST(Placeholder, NamesTheFirstUnknownOne) {
  EXPECT_EQ(unknownPlaceholder("{model} {kee} {other}", kKnown), "kee");
  EXPECT_FALSE(unknownPlaceholder("{} {A} {1} {a b} {model", kKnown));
}

TEST(Placeholder, NeverLooksIntoWhatWasFilledIn) {
  const auto values = std::to_array<Placeholder>({{"model", "{key}"}, {"key", "secret"}});
  EXPECT_EQ(fillPlaceholders("{model}", values), "{key}");
  EXPECT_EQ(fillPlaceholders("{{model}}", values), "{{key}}");
}

TEST(Placeholder, IsFoundByName) {
  EXPECT_TRUE(hasPlaceholder("--session={session}", "session"));
  EXPECT_FALSE(hasPlaceholder("--session=session", "session"));
}

}  // namespace
}  // namespace coffer::agents
