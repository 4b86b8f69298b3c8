#include "workers/resolver/answer.hpp"

#include <random>
#include <string>

#include <ares.h>
#include <ares_dns_record.h>
#include <arpa/inet.h>
#include <gtest/gtest.h>

#include "model/limits.hpp"
#include "workers/resolver/names.hpp"

namespace coffer::resolver {
namespace {

using Bytes = std::vector<std::uint8_t>;

Bytes queryFor(const std::string& name, ares_dns_rec_type_t type = ARES_REC_TYPE_A) {
  ares_dns_record_t* query = nullptr;
  EXPECT_EQ(ares_dns_record_create(&query, 0x1234, ARES_FLAG_RD, ARES_OPCODE_QUERY, ARES_RCODE_NOERROR), ARES_SUCCESS);
  EXPECT_EQ(ares_dns_record_query_add(query, name.c_str(), type, ARES_CLASS_IN), ARES_SUCCESS);
  unsigned char* bytes = nullptr;
  std::size_t size = 0;
  EXPECT_EQ(ares_dns_write(query, &bytes, &size), ARES_SUCCESS);
  Bytes out(bytes, bytes + size);
  ares_free_string(bytes);
  ares_dns_record_destroy(query);
  return out;
}

struct Reply {
  ares_dns_rcode_t code{};
  unsigned short id = 0;
  std::size_t answers = 0;
  std::string address;
};

Reply read(const Bytes& bytes) {
  ares_dns_record_t* record = nullptr;
  EXPECT_EQ(ares_dns_parse(bytes.data(), bytes.size(), 0, &record), ARES_SUCCESS);
  Reply reply;
  reply.code = ares_dns_record_get_rcode(record);
  reply.id = ares_dns_record_get_id(record);
  EXPECT_NE(ares_dns_record_get_flags(record) & ARES_FLAG_QR, 0);
  reply.answers = ares_dns_record_rr_cnt(record, ARES_SECTION_ANSWER);
  if (reply.answers > 0) {
    const auto* rr = ares_dns_record_rr_get_const(record, ARES_SECTION_ANSWER, 0);
    char text[INET6_ADDRSTRLEN] = {};
    if (ares_dns_rr_get_type(rr) == ARES_REC_TYPE_A)
      inet_ntop(AF_INET, ares_dns_rr_get_addr(rr, ARES_RR_A_ADDR), text, sizeof(text));
    else
      inet_ntop(AF_INET6, ares_dns_rr_get_addr6(rr, ARES_RR_AAAA_ADDR), text, sizeof(text));
    reply.address = text;
  }
  ares_dns_record_destroy(record);
  return reply;
}

/// From the header, because c-ares itself reads no reply without a question.
int codeOf(const Bytes& bytes) { return bytes[3] & 0x0f; }

TEST(Answer, NoNameExists) {
  for (const auto type :
       {ARES_REC_TYPE_A, ARES_REC_TYPE_AAAA, ARES_REC_TYPE_HTTPS, ARES_REC_TYPE_TXT, ARES_REC_TYPE_ANY}) {
    const auto said = answer(queryFor("API.GitHub.com", type));
    ASSERT_TRUE(said);
    const auto reply = read(said->bytes);
    EXPECT_EQ(reply.code, ARES_RCODE_NXDOMAIN);
    EXPECT_EQ(reply.id, 0x1234);
    EXPECT_EQ(reply.answers, 0u);
    EXPECT_EQ(said->refusedName, "api.github.com");
  }
}

TEST(Answer, GivesTheQuestionBackLetterByLetter) {
  const auto query = queryFor("MiXed.Example");
  const auto said = answer(query);
  ASSERT_TRUE(said);
  const std::string wire(said->bytes.begin(), said->bytes.end());
  EXPECT_TRUE(wire.contains("MiXed"));
}

TEST(Answer, LocalhostIsThisMachine) {
  for (const auto* name : {"localhost", "LOCALHOST", "app.localhost"}) {
    EXPECT_EQ(read(answer(queryFor(name))->bytes).address, "127.0.0.1");
    EXPECT_EQ(read(answer(queryFor(name, ARES_REC_TYPE_AAAA))->bytes).address, "::1");
    const auto other = answer(queryFor(name, ARES_REC_TYPE_MX));
    EXPECT_EQ(read(other->bytes).code, ARES_RCODE_NOERROR);
    EXPECT_EQ(read(other->bytes).answers, 0u);
    EXPECT_TRUE(other->refusedName.empty());
  }
  EXPECT_EQ(read(answer(queryFor("notlocalhost"))->bytes).code, ARES_RCODE_NXDOMAIN);
  EXPECT_EQ(read(answer(queryFor("localhost.example"))->bytes).code, ARES_RCODE_NXDOMAIN);
}

TEST(Answer, RepliesAndScrapsGetSilence) {
  auto reply = queryFor("example.com");
  reply[2] |= 0x80;
  EXPECT_FALSE(answer(reply));
  EXPECT_FALSE(answer(Bytes{}));
  EXPECT_FALSE(answer(Bytes(11, 0)));
}

TEST(Answer, OddQueriesAreComplainedAbout) {
  auto two = queryFor("example.com");
  const Bytes question(two.begin() + 12, two.end());
  two.insert(two.end(), question.begin(), question.end());
  two[5] = 2;
  EXPECT_EQ(codeOf(answer(two)->bytes), ARES_RCODE_FORMERR);

  auto none = queryFor("example.com");
  none.resize(12);
  none[5] = 0;
  EXPECT_EQ(codeOf(answer(none)->bytes), ARES_RCODE_FORMERR);

  auto many = queryFor("example.com");
  many[4] = 0xff;
  many[5] = 0xff;
  EXPECT_EQ(codeOf(answer(many)->bytes), ARES_RCODE_FORMERR);

  auto update = queryFor("example.com");
  update[2] = static_cast<std::uint8_t>(5 << 3);
  const auto code = codeOf(answer(update)->bytes);
  EXPECT_TRUE(code == ARES_RCODE_NOTIMP || code == ARES_RCODE_FORMERR);

  auto loop = queryFor("example.com");
  loop[12] = 0xc0;  // a name that points to itself
  loop[13] = 12;
  EXPECT_EQ(codeOf(answer(loop)->bytes), ARES_RCODE_FORMERR);
}

TEST(Answer, SurvivesEveryTruncationAndManyMutations) {
  const Bytes seeds[] = {queryFor("a.very.long.name.with.many.labels.example.com", ARES_REC_TYPE_HTTPS),
                         queryFor("localhost"), queryFor("x")};
  std::mt19937 random(17);
  for (const auto& seed : seeds) {
    for (std::size_t size = 0; size <= seed.size(); ++size)
      answer(std::span(seed).first(size));
    for (int i = 0; i < 50000; ++i) {
      auto bytes = seed;
      for (auto n = 1 + random() % 6; n > 0; --n)
        bytes[random() % bytes.size()] = static_cast<std::uint8_t>(random());
      if (random() % 4 == 0) bytes.resize(random() % bytes.size());
      if (random() % 4 == 0) bytes.insert(bytes.end(), random() % 600, static_cast<std::uint8_t>(random()));
      const auto said = answer(bytes);
      if (said) {
        ASSERT_GE(said->bytes.size(), 12u);
        ASSERT_LE(said->bytes.size(), 512u + 64);
        ASSERT_LE(said->refusedName.size(), 1024u);
      }
    }
  }
}

TEST(Names, AreBounded) {
  Names names;
  for (int i = 0; i < 2000; ++i)
    names.add("n" + std::to_string(i) + ".example");
  names.add("n1.example");
  const auto records = names.records();
  EXPECT_EQ(records.all("name").size(), limits::kResolverNames);
  EXPECT_EQ(records.number("more"), 2000 - limits::kResolverNames);
}

TEST(Names, GoOnAfterARestart) {
  Names before;
  before.add("a.example");
  before.add("a.example");
  before.dropped();
  Names after;
  after.restore(before.records());
  after.add("a.example");
  EXPECT_EQ(after.records().number("count"), 3u);
  EXPECT_EQ(after.records().number("dropped"), 1u);
}

TEST(Rate, LetsABurstThroughAndThenSoManyASecond) {
  Rate rate;
  std::uint64_t now = 5'000'000;
  std::uint64_t taken = 0;
  while (rate.take(now))
    ++taken;
  EXPECT_EQ(taken, limits::kResolverBurst);
  now += 500'000;
  taken = 0;
  while (rate.take(now))
    ++taken;
  EXPECT_EQ(taken, limits::kResolverQueriesPerSecond / 2);
}

}  // namespace
}  // namespace coffer::resolver
