#include "workers/gateway/route.hpp"

#include <string>

#include <gtest/gtest.h>

namespace coffer::gateway {
namespace {

Settings settingsFor(std::set<Protocol> protocols, std::string path = "/v1") {
  Settings settings;
  settings.base = {true, "api.example.com", 443, std::move(path)};
  settings.protocols = std::move(protocols);
  return settings;
}

const Settings kAll = settingsFor({Protocol::Responses, Protocol::Chat, Protocol::Messages});

unsigned statusOf(std::string_view method, std::string_view target, bool upgrade = false) {
  const auto found = route(method, target, upgrade, kAll);
  return found ? 200 : found.error().status;
}

TEST(Route, LetsThroughWhatMakesAModelAnswer) {
  for (const std::string_view target :
       {"/v1/responses", "/v1/chat/completions", "/v1/messages", "/v1/messages?beta=true"}) {
    const auto found = route("POST", target, false, kAll);
    ASSERT_TRUE(found) << target;
    EXPECT_TRUE(found->generates) << target;
    EXPECT_EQ(found->target, target);
  }
}

TEST(Route, DoesNotChargeForCountingAndListing) {
  for (const auto& [method, target] :
       {std::pair{"POST", "/v1/messages/count_tokens?beta=true"}, std::pair{"GET", "/v1/models"},
        std::pair{"GET", "/v1/models?client_version=0.171.0"}}) {
    const auto found = route(method, target, false, kAll);
    ASSERT_TRUE(found) << target;
    EXPECT_FALSE(found->generates);
  }
}

TEST(Route, RefusesEverythingElse) {
  for (const auto& [method, target] : {
           std::pair{"GET", "/v1/files"},
           std::pair{"POST", "/v1/files"},
           std::pair{"DELETE", "/v1/responses"},
           std::pair{"GET", "/v1/responses/resp_1"},
           std::pair{"POST", "/v1/responses/compact/../../files"},
           std::pair{"POST", "/v1/../admin"},
           std::pair{"POST", "/v1/%2e%2e/admin"},
           std::pair{"POST", "/v1%2fresponses"},
           std::pair{"POST", "//v1/responses"},
           std::pair{"POST", "/v1//responses"},
           std::pair{"POST", "/v1/responses/"},
           std::pair{"POST", "/V1/responses"},
           std::pair{"POST", "/v1/responses?x=1"},
           std::pair{"POST", "/v1/messages?beta=true&x=1"},
           std::pair{"GET", "/v1/models?x=a%0d%0aHost:b"},
           std::pair{"GET", "/v1/models/../files"},
           std::pair{"OPTIONS", "/v1/responses"},
           std::pair{"POST", "/"},
       })
    EXPECT_EQ(statusOf(method, target), 403u) << method << ' ' << target;
}

TEST(Route, IsNoProxy) {
  EXPECT_EQ(statusOf("GET", "http://169.254.169.254/latest/meta-data"), 421u);
  EXPECT_EQ(statusOf("CONNECT", "example.com:443"), 421u);
  EXPECT_EQ(statusOf("OPTIONS", "*"), 421u);
}

TEST(Route, TellsCodexAtOnceThatThereIsNoWebSocket) {
  EXPECT_EQ(statusOf("GET", "/v1/responses", true), 426u);
  EXPECT_EQ(statusOf("GET", "/v1/models", true), 403u);
}

TEST(Route, RefusesTargetsThatAreTooLong) { EXPECT_EQ(statusOf("GET", "/v1/models?" + std::string(600, 'a')), 414u); }

TEST(Route, RefusesAProtocolTheProviderDoesNotSpeak) {
  const auto found = route("POST", "/v1/messages", false, settingsFor({Protocol::Responses}));
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().status, 403u);
  EXPECT_EQ(found.error().type, "protocol_not_allowed");
}

TEST(Route, PutsTheBaseUrlsPathBefore) {
  const auto targetFor = [](std::string path) {
    return route("POST", "/v1/chat/completions", false, settingsFor({Protocol::Chat}, std::move(path)))->target;
  };
  EXPECT_EQ(targetFor(""), "/v1/chat/completions");
  EXPECT_EQ(targetFor("/v1"), "/v1/chat/completions");
  EXPECT_EQ(targetFor("/api/v1"), "/api/v1/chat/completions");
  EXPECT_EQ(targetFor("/api/paas/v4"), "/api/paas/v4/chat/completions");
  EXPECT_EQ(targetFor("/compatible"), "/compatible/v1/chat/completions");
}

TEST(Route, KnowsItsOwnHost) {
  EXPECT_TRUE(isOurHost("127.0.0.1:4180", 4180));
  EXPECT_TRUE(isOurHost("localhost:4180", 4180));
  EXPECT_TRUE(isOurHost("localhost", 4180));
  EXPECT_FALSE(isOurHost("127.0.0.1:4181", 4180));
  EXPECT_FALSE(isOurHost("api.openai.com", 4180));
  EXPECT_FALSE(isOurHost("localhost.evil.example:4180", 4180));
  EXPECT_FALSE(isOurHost("", 4180));
}

}  // namespace
}  // namespace coffer::gateway
