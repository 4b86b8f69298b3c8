#include "workers/gateway/settings.hpp"

#include <gtest/gtest.h>

#include "workers/gateway/special_address.hpp"

namespace coffer::gateway {
namespace {

Records requestWith(std::initializer_list<Record> more, std::string_view base = "https://api.example.com/v1") {
  Records request;
  request.add("base-url", base);
  request.add("kind", "openai-responses");
  request.add("dummy-key", "sandbox-key");
  for (const auto& record : more)
    request.add(record.key, record.value);
  return request;
}

TEST(Settings, ReadsARequest) {
  const auto settings =
      parseSettings(requestWith({{"kind", "anthropic"}, {"budget", "5000"}, {"address", "127.0.0.1:443"}}));
  ASSERT_TRUE(settings) << settings.error().message;
  EXPECT_EQ(settings->base.host, "api.example.com");
  EXPECT_EQ(settings->base.port, 443);
  EXPECT_EQ(settings->base.path, "/v1");
  EXPECT_TRUE(settings->base.tls);
  EXPECT_EQ(settings->protocols, (std::set{Protocol::Responses, Protocol::Messages}));
  EXPECT_EQ(settings->budget, 5000u);
  ASSERT_EQ(settings->addresses.size(), 1u);
  EXPECT_EQ(settings->addresses[0].port, 443);
}

TEST(Settings, DialsOnlyWhatBelongsToTheBaseUrl) {
  const auto settings = [](std::string_view base) {
    return parseSettings(
        requestWith({{"address", "127.0.0.1:8080"}, {"address", "127.0.0.1:8081"}, {"address", "[::1]:8081"}}, base));
  };
  const auto literal = settings("http://127.0.0.1:8081/v1");
  ASSERT_TRUE(literal);
  ASSERT_EQ(literal->addresses.size(), 1u);
  EXPECT_EQ(literal->addresses[0].port, 8081);
  EXPECT_EQ(settings("http://model.lan:8081")->addresses.size(), 2u) << "a name may be any of that port";
  EXPECT_FALSE(settings("http://127.0.0.1:8082")) << "in the clear, and nobody named it";
  EXPECT_TRUE(settings("https://api.example.com/v1")->addresses.empty());
}

TEST(Settings, SendsAKeyInTheClearOnlyWhereAnAdministratorPointed) {
  EXPECT_FALSE(parseSettings(requestWith({}, "http://api.example.com/v1")));
  const auto named = parseSettings(requestWith({{"address", "[::1]:11434"}}, "http://localhost:11434"));
  ASSERT_TRUE(named);
  EXPECT_FALSE(named->base.tls);
  EXPECT_EQ(named->addresses[0].address, "::1");
}

TEST(Settings, RefusesWhatMakesNoSense) {
  for (const std::string_view base :
       {"", "api.example.com", "ftp://api.example.com", "https://", "https://user:secret@api.example.com/v1",
        "https://a/v1?x=1", "https://a/v1#x", "https://a/../x", "https://a/%2e/x", "https://a:0/v1", "https://a//v1",
        "https://a b/v1"})
    EXPECT_FALSE(parseSettings(requestWith({}, base))) << base;
  EXPECT_FALSE(parseSettings(requestWith({{"kind", "gemini"}})));
  EXPECT_FALSE(parseSettings(requestWith({{"header", "cookie"}})));
  EXPECT_FALSE(parseSettings(requestWith({{"budget", "much"}})));
  EXPECT_FALSE(parseSettings(requestWith({{"request-bytes", "0"}})));
  EXPECT_FALSE(parseSettings(requestWith({{"address", "localhost:80"}})));
  EXPECT_FALSE(parseSettings(requestWith({{"address", "127.0.0.1"}})));
  EXPECT_FALSE(parseSettings(requestWith({{"surprise", "x"}})));
  EXPECT_FALSE(parseSettings(requestWith({{"base-url", "https://two.example.com"}})));
  EXPECT_FALSE(parseSettings(Records()));
}

TEST(Settings, KeysAreWhatFitsIntoAHeader) {
  EXPECT_TRUE(isKey("sk-abc_123"));
  EXPECT_FALSE(isKey(""));
  EXPECT_FALSE(isKey("two words"));
  EXPECT_FALSE(isKey("line\r\nX-Other: y"));
  EXPECT_FALSE(isKey(std::string(5000, 'k')));
}

TEST(SpecialAddress, OnlyThePublicInternetIsPublic) {
  for (const std::string_view address :
       {"1.1.1.1", "8.8.8.8", "104.18.7.192", "172.32.0.1", "100.63.255.255", "198.20.0.1", "168.63.129.15",
        "168.63.129.17", "223.255.255.255", "2606:4700::6810:7c0", "2a00:1450:4001::1"})
    EXPECT_TRUE(isPublicAddress(address)) << address;
  for (const std::string_view address : {"0.0.0.0",
                                         "10.1.2.3",
                                         "100.64.0.1",
                                         "100.127.255.255",
                                         "127.0.0.1",
                                         "168.63.129.16",
                                         "169.254.169.254",
                                         "172.16.0.1",
                                         "172.31.255.255",
                                         "192.168.1.1",
                                         "192.0.2.1",
                                         "192.31.196.1",
                                         "192.52.193.1",
                                         "192.88.99.1",
                                         "192.175.48.1",
                                         "198.18.0.1",
                                         "198.19.255.255",
                                         "198.51.100.7",
                                         "203.0.113.9",
                                         "224.0.0.1",
                                         "240.0.0.1",
                                         "255.255.255.255",
                                         "::",
                                         "::1",
                                         "::ffff:8.8.8.8",
                                         "64:ff9b::808:808",
                                         "fe80::1",
                                         "fc00::1",
                                         "fd12::1",
                                         "ff02::1",
                                         "2001:db8::1",
                                         "2001::1",
                                         "2002:7f00:1::",
                                         "3fff::1",
                                         "",
                                         "example.com",
                                         "1.1.1",
                                         "0x7f.1"})
    EXPECT_FALSE(isPublicAddress(address)) << address;
}

}  // namespace
}  // namespace coffer::gateway
