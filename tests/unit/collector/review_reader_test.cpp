#include "workers/collector/review_reader.hpp"

#include <gtest/gtest.h>

#include "model/limits.hpp"
#include "mutate.hpp"

namespace coffer::collector {
namespace {

const std::string kGood = R"({"checked": ["all of it"], "findings": [
  {"severity": "error", "path": "/src/a/b.c", "line": 12, "title": "Wrong sign", "text": "It must be minus."},
  {"severity": "info", "title": "A question", "extra": [1, 2]}]})";

std::string refusalWith(const std::string& finding) {
  return readReview(R"({"checked": ["x"], "findings": [)" + finding + "]}").refusal;
}

TEST(Review, IsReadWhole) {
  const auto review = readReview(kGood);
  EXPECT_EQ(review.refusal, "");
  EXPECT_EQ(review.checked, std::vector<std::string>{"all of it"});
  ASSERT_EQ(review.findings.size(), 2U);
  EXPECT_EQ(review.findings.at(0).path, "a/b.c");
  EXPECT_EQ(review.findings.at(0).line, 12U);
  EXPECT_EQ(review.findings.at(1).line, 0U);
  EXPECT_EQ(readReview(R"({"checked": ["x"], "findings": []})").refusal, "");
}

TEST(Review, NamesTheFindingThatCannotBeRead) {
  const std::string good = R"({"severity": "info", "path": "a", "title": "t"})";
  EXPECT_EQ(refusalWith(good), "");
  EXPECT_EQ(refusalWith(good + R"(, {"severity": "fatal", "path": "a", "title": "t"})"),
            "Finding 2 needs a severity of error, warning or info.");
  EXPECT_EQ(refusalWith(R"({"severity": "info", "path": "a", "title": " "})"), "Finding 1 needs a title.");
  EXPECT_EQ(refusalWith(R"({"severity": "info", "line": "12", "title": "t"})"),
            "Finding 1 has a line that is not a whole number.");
  EXPECT_EQ(refusalWith(R"({"severity": "info", "line": -1, "title": "t"})"),
            "Finding 1 has a line that is not a whole number.");
  EXPECT_EQ(refusalWith("3"), "Finding 1 must be an object.");
}

TEST(Review, RefusesAPathThatLeadsOut) {
  for (const std::string path : {"/etc/passwd", "../x", "a/../../x", "..", "/src/../etc", "a\\u0007"})
    EXPECT_EQ(refusalWith(R"({"severity": "info", "path": ")" + path + R"(", "title": "t"})"),
              "Finding 1 has a path that is not one inside the repository.")
        << path;
  EXPECT_EQ(refusalWith(R"({"severity": "info", "path": "a/..b/c..", "title": "t"})"), "");
}

TEST(Review, WithoutTheTwoListsIsRefused) {
  EXPECT_NE(readReview("").refusal, "");
  EXPECT_NE(readReview("looks good to me").refusal, "");
  EXPECT_NE(readReview("[]").refusal, "");
  EXPECT_NE(readReview(R"({"findings": []})").refusal, "");
  EXPECT_NE(readReview(R"({"checked": [], "findings": []})").refusal, "");
  EXPECT_NE(readReview(R"({"checked": ["x"], "findings": "none"})").refusal, "");
  EXPECT_NE(readReview("// no comments\n" + kGood).refusal, "") << "strict JSON only";
}

TEST(Review, AnIdStaysOverRoundsAndSaysWhichIsWhich) {
  EXPECT_EQ(findingId("a.c", "Wrong sign."), findingId("a.c", "  wrong   SIGN"));
  EXPECT_NE(findingId("a.c", "Wrong sign"), findingId("b.c", "Wrong sign"));
  EXPECT_EQ(findingId("a.c", "x").size(), 16U);
  const auto twice = readReview(
      R"({"checked": ["x"], "findings": [{"severity":"info","path":"a","title":"t"},{"severity":"info","path":"a","title":"T!"}]})");
  ASSERT_EQ(twice.findings.size(), 2U);
  EXPECT_EQ(twice.findings.at(1).id, twice.findings.at(0).id + "-2");
}

TEST(Review, TooManyOrTooLongIsBounded) {
  std::string many;
  for (std::size_t i = 0; i <= limits::kFindings; ++i)
    many += std::string(i > 0 ? "," : "") + R"({"severity":"info","title":"t"})";
  EXPECT_NE(refusalWith(many), "");
  const auto long_ = readReview(R"({"checked": ["x"], "findings": [{"severity":"info","title":")" +
                                std::string(10000, 't') + R"("}]})");
  ASSERT_EQ(long_.findings.size(), 1U);
  EXPECT_LT(long_.findings.at(0).title.size(), 400U);
}

TEST(Review, AnyBytesGiveAReading) {
  Mutations mutations(9);
  for (int i = 0; i < 2000; ++i) {
    const auto review = readReview(mutations.of(kGood));
    EXPECT_TRUE(review.refusal.empty() || review.findings.empty());
    for (const auto& finding : review.findings)
      EXPECT_FALSE(finding.path.starts_with('/') || finding.path.starts_with(".."));
  }
  EXPECT_NE(readReview(std::string(250000, '[')).refusal, "");
  EXPECT_NE(readReview(R"({"checked":)" + std::string(100000, '[') + std::string(100000, ']') + "}").refusal, "");
}

}  // namespace
}  // namespace coffer::collector
