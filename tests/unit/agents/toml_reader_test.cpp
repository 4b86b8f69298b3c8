#include "agents/toml_reader.hpp"

#include <random>

#include <gtest/gtest.h>

namespace coffer::agents {
namespace {

/// What a strict reader that wants one text `name`, a number and a table says about a document.
std::string faultOf(const std::string& text) {
  const auto document = parseToml(text, "f.toml");
  if (!document) return document.error();
  TomlReader::Fault fault{"f.toml", {}};
  TomlReader reader(*document, "", fault);
  reader.text("name");
  reader.integer("count", 3, 1, 9);
  auto table = reader.table("table");
  table.boolean("on", false);
  table.finish();
  reader.finish();
  return fault.text;
}

TEST(TomlReader, TakesWhatIsAsked) { EXPECT_EQ(faultOf("name = 'n'\ncount = 4\n[table]\non = true\n"), ""); }

TEST(TomlReader, NamesFileAndLineOfAnUnknownKey) {
  EXPECT_EQ(faultOf("name = 'n'\n\nnmae = 'n'\n"), "f.toml:3: unknown key nmae");
  EXPECT_EQ(faultOf("name = 'n'\n[table]\non = true\noff = true\n"), "f.toml:4: unknown key table.off");
}

TEST(TomlReader, NamesFileAndLineOfAWrongKindARangeAndAMissingKey) {
  EXPECT_EQ(faultOf("name = 1\n"), "f.toml:1: name must be text in quotes");
  EXPECT_EQ(faultOf("name = 'n'\ncount = 10\n"), "f.toml:2: count must be from 1 to 9");
  EXPECT_EQ(faultOf("count = 2\n"), "f.toml:1: name is missing");
  EXPECT_EQ(faultOf("name = 'n'\ntable = 3\n"), "f.toml:2: table must be a table");
}

TEST(TomlReader, NamesTheLineOfASyntaxError) { EXPECT_EQ(faultOf("name = 'n'\nname = ").substr(0, 9), "f.toml:2:"); }

TEST(TomlReader, TellsTheFirstFaultOnly) {
  EXPECT_EQ(faultOf("a = 1\nb = 2\nname = 3\n"), "f.toml:3: name must be text in quotes");
}

TEST(TomlReader, SurvivesWhateverStandsInAFile) {
  const std::string whole =
      "name = 'n'\ncount = 4\n[table]\non = true\nlist = [1, 2.5, 'x', {a = 1979-05-27}]\n[[more]]\nx = \"\\u00e9\"\n";
  std::mt19937 random(7);
  for (int i = 0; i < 1500; ++i) {
    auto text = whole;
    for (auto changes = random() % 4 + 1; changes > 0; --changes) {
      const auto at = random() % text.size();
      if (random() % 3 == 0)
        text.resize(at + 1);
      else
        text[at] = static_cast<char>(random() % 256);
    }
    faultOf(text);
  }
  EXPECT_NE(faultOf("name = " + std::string(100000, '[')), "");
}

}  // namespace
}  // namespace coffer::agents
