#include <fstream>
#include <iterator>
#include <regex>

#include <gtest/gtest.h>

#include "api/object.hpp"
#include "api/signature.hpp"
#include "api/utf8.hpp"
#include "dbus/names.hpp"

namespace coffer::api::test {
namespace {

TEST(Utf8, leavesTextAloneAndReplacesTheRest) {
  EXPECT_EQ(toUtf8("gr\xC3\xBC\xC3\x9F \xE2\x82\xAC \xF0\x9F\x99\x82"),
            "gr\xC3\xBC\xC3\x9F \xE2\x82\xAC \xF0\x9F\x99\x82");
  const std::string bad = "\xEF\xBF\xBD";
  EXPECT_EQ(toUtf8("\xC0\x80"), bad + bad);
  EXPECT_EQ(toUtf8("\xED\xA0\x80"), bad + bad + bad);
  EXPECT_EQ(toUtf8("\xF4\x90\x80\x80"), bad + bad + bad + bad);
  EXPECT_EQ(toUtf8("\xE2\x82"), bad + bad);
  EXPECT_EQ(toUtf8(std::string_view("a\0b", 3)), "a" + bad + "b");
}

TEST(Utf8, cutsBetweenCharacters) {
  const std::string text =
      "a\xE2\x82\xAC"
      "b";
  EXPECT_EQ(wholeCharacters(text, 1), 1U);
  EXPECT_EQ(wholeCharacters(text, 2), 1U);
  EXPECT_EQ(wholeCharacters(text, 3), 1U);
  EXPECT_EQ(wholeCharacters(text, 4), 4U);
  EXPECT_EQ(wholeCharacters(text, 9), 5U);
  EXPECT_EQ(wholeCharacters("\x80\x80\x80\x80\x80", 4), 4U);
}

TEST(Utf8, showsPathsWithoutControlCharacters) {
  EXPECT_EQ(toPrintable("/a b/\xC3\xBC"), "/a b/\xC3\xBC");
  EXPECT_EQ(toPrintable("/\x1B[31m\\\xFF\xC2\x9B"), "/\\x1b[31m\\x5c\\xff\\xc2\\x9b");
}

TEST(Object, hasExactlyOnePath) {
  const std::string top(names::kTaskPath);
  EXPECT_EQ(objectAt(top + "/17"), (Object{.kind = Object::Kind::Task, .id = 17}));
  for (const auto* bad : {"/0", "/017", "/", "/17/x", "/_31", "/-1", "/18446744073709551616", "x/17"})
    EXPECT_FALSE(objectAt(top + bad).has_value()) << bad;
  EXPECT_EQ(objectAt(top)->kind, Object::Kind::Branch);
  EXPECT_FALSE(objectAt("/org/cofferdam/Cofferdam1/other").has_value());
  EXPECT_FALSE(objectAt("").has_value());
}

TEST(Object, agentsKeepTheirNames) {
  const auto path = pathOfAgent("claude-code");
  EXPECT_EQ(path.text, "/org/cofferdam/Cofferdam1/agent/claude_2dcode");
  EXPECT_EQ(objectAt(path.text), (Object{.kind = Object::Kind::Agent, .name = "claude-code"}));
}

std::string file(const std::string& name) {
  std::ifstream stream(std::string(COFFER_DBUS_DIRECTORY) + "/" + name);
  return {std::istreambuf_iterator<char>(stream), {}};
}

TEST(Names, everyMessageHasAnEntryInTheCatalog) {
  const auto header = file("names.hpp");
  const auto catalog = file("../units/cofferdam.catalog");
  const std::regex message("kMessage\\w+ =\\s+\"([0-9a-f]{32})\"");
  int found = 0;
  for (std::sregex_iterator at(header.begin(), header.end(), message); at != std::sregex_iterator(); ++at, ++found)
    EXPECT_NE(catalog.find("-- " + (*at)[1].str() + "\nSubject: "), std::string::npos) << (*at)[0];
  EXPECT_GE(found, 12);
}

TEST(Names, everyActionIsInThePolicy) {
  const auto policy = file("../polkit/org.cofferdam.Cofferdam1.policy");
  for (const auto action : names::kActions)
    EXPECT_NE(policy.find("<action id=\"" + std::string(action) + "\">"), std::string::npos) << action;
}

TEST(Signature, isOfTheType) {
  using Row = std::tuple<std::uint64_t, std::string, std::map<std::string, Value>>;
  EXPECT_EQ(signatureOf<std::vector<Row>>(), "a(tsa{sv})");
  EXPECT_EQ(signatureOf<Bytes>(), "ay");
  EXPECT_EQ((signatureOfAll<ObjectPath, bool, std::uint16_t>()), "obq");
}

}  // namespace
}  // namespace coffer::api::test
