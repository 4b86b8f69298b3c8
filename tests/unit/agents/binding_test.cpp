#include "agents/binding.hpp"

#include <gtest/gtest.h>

namespace coffer::agents {
namespace {

TEST(Binding, IsReadAndWrittenTheSame) {
  for (const std::string_view text :
       {"codex", "codex/gpt-5.2", "opencode/vendor/model:free@local", "claude@anthropic"}) {
    const auto binding = Binding::parse(text);
    ASSERT_TRUE(binding) << binding.error();
    EXPECT_EQ(binding->text(), text);
  }
  EXPECT_EQ(Binding::parse("opencode/vendor/model@local")->model, "vendor/model");
}

TEST(Binding, TakesTheColonThatPeopleWrite) {
  EXPECT_EQ(Binding::parse("codex:gpt-5.2")->text(), "codex/gpt-5.2");
  EXPECT_EQ(Binding::parse("opencode:vendor/model:free@local")->text(), "opencode/vendor/model:free@local");
  EXPECT_FALSE(Binding::parse("codex:"));
}

TEST(Binding, RefusesWhatCouldNotBeAWordOfACommand) {
  for (const std::string_view text :
       {"", "/m", "codex/", "codex@", "Codex", "codex/a b", "codex/-x", "-codex", "codex/m\n", "codex/{key}", "../x"})
    EXPECT_FALSE(Binding::parse(text)) << text;
}

TEST(Binding, TakesAModelFromBelowOnlyForTheSameAgent) {
  const Binding machine{"codex", "m1", "openai"};
  EXPECT_EQ((Binding{"codex", "m2", ""}.over(machine)), (Binding{"codex", "m2", "openai"}));
  EXPECT_EQ((Binding{}.over(machine)), machine);
  EXPECT_EQ((Binding{"claude", "", ""}.over(machine)), (Binding{"claude", "", ""}));
}

}  // namespace
}  // namespace coffer::agents
