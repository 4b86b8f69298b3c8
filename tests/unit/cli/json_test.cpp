#include <limits>

#include <gtest/gtest.h>
#include <json-glib/json-glib.h>

#include "json_output.hpp"

namespace coffer::cli {
namespace {

/// The object on one line, without the spaces that only people need.
std::string compact(const Json& json) {
  JsonParser* parser = json_parser_new();
  const auto text = json.text();
  EXPECT_TRUE(json_parser_load_from_data(parser, text.data(), static_cast<gssize>(text.size()), nullptr)) << text;
  char* result = json_to_string(json_parser_get_root(parser), FALSE);
  std::string compacted = result;
  g_free(result);
  g_object_unref(parser);
  return compacted;
}

TEST(Json, WritesBasicTypesOfTheBus) {
  const Dictionary values{
      {"s", sdbus::Variant(std::string("x\"y"))},      {"t", sdbus::Variant(std::uint64_t{1'700'000'000'000'000})},
      {"x", sdbus::Variant(std::int64_t{-1})},         {"u", sdbus::Variant(std::uint32_t{7})},
      {"q", sdbus::Variant(std::uint16_t{443})},       {"b", sdbus::Variant(true)},
      {"o", sdbus::Variant(sdbus::ObjectPath("/a/b"))}};
  EXPECT_EQ(compact(Json::of(values)), R"({"b":true,"o":"/a/b","q":443,"s":"x\"y","t":1700000000000000,"u":7,"x":-1})");
}

TEST(Json, WritesContainersOfTheBus) {
  using Triple = sdbus::Struct<std::string, std::string, std::uint64_t>;
  const Dictionary values{
      {"as", sdbus::Variant(std::vector<std::string>{"accept-plan", "cancel"})},
      {"map", sdbus::Variant(std::map<std::string, std::string>{{"writer", "codex"}})},
      {"nested", sdbus::Variant(std::map<std::string, sdbus::Variant>{{"inner", sdbus::Variant(std::uint64_t{1})}})},
      {"none", sdbus::Variant(std::vector<Triple>{})},
      {"struct", sdbus::Variant(Triple{"person", "words", 5})},
      {"structs", sdbus::Variant(std::vector<Triple>{{"a", "b", 1}, {"c", "d", 2}})}};
  EXPECT_EQ(compact(Json::of(values)),
            R"({"as":["accept-plan","cancel"],"map":{"writer":"codex"},"nested":{"inner":1},"none":[],)"
            R"("struct":["person","words",5],"structs":[["a","b",1],["c","d",2]]})");
}

TEST(Json, WritesBytesAsTextOnlyWhenTheyAreText) {
  const std::string path = "/home/größe";
  Json json;
  json.add("text", sdbus::Variant(std::vector<std::uint8_t>(path.begin(), path.end())));
  json.add("bytes", sdbus::Variant(std::vector<std::uint8_t>{'/', 0xff}));
  EXPECT_EQ(compact(json), R"({"text":"/home/größe","bytes":[47,255]})");
}

TEST(Json, EscapesWhatWouldActOnATerminal) {
  Json json;
  json.add("Title",
           "a\xe2\x80\xae"
           "b\x1b[2J\xc2\x9b\xf0\x9d\x85\xb3");
  const auto text = json.text();
  for (const std::string hidden : {"\xe2\x80\xae", "\x1b", "\xc2\x9b", "\xf0\x9d\x85\xb3"})
    EXPECT_EQ(text.find(hidden), std::string::npos) << text;
  EXPECT_NE(text.find("\\u202e"), std::string::npos) << text;
  EXPECT_NE(text.find("\\ud834\\udd73"), std::string::npos) << text;
}

TEST(Json, KeepsHugeNumbersPositive) {
  Json json;
  json.add("t", std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(json.text().find('-'), std::string::npos);
}

TEST(Json, NestsObjectsAndLists) {
  std::vector<Json> tasks;
  tasks.push_back(std::move(Json().add("Id", std::uint64_t{17})));
  EXPECT_EQ(compact(Json().add("Tasks", std::move(tasks)).add("More", Json())), R"({"Tasks":[{"Id":17}],"More":{}})");
}

}  // namespace
}  // namespace coffer::cli
