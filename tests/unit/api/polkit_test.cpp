#include <optional>

#include <gtest/gtest.h>

#include "api/polkit_authority.hpp"
#include "private_bus.hpp"

namespace coffer::api::test {
namespace {

/// Something that answers on polkit's name as a test says.
class Polkit : public testing::Test {
 protected:
  Polkit() {
    sd_event* raw = nullptr;
    sd_event_new(&raw);
    loop_.reset(raw);
    ours_ = private_.connect(raw);
    polkit_ = private_.connect(raw);
  }
  void appear() {
    ASSERT_GE(sd_bus_add_filter(polkit_.get(), nullptr, &Polkit::onCall, this), 0);
    ASSERT_GE(sd_bus_request_name(polkit_.get(), "org.freedesktop.PolicyKit1", 0), 0);
  }
  Authority::Verdict ask(Authority::Question question, std::uint64_t patience = 5'000'000) {
    PolkitAuthority authority(ours_.get(), patience);
    std::optional<Authority::Verdict> verdict;
    authority.check(question, [&](auto given) { verdict = given; });
    while (!verdict && sd_event_run(loop_.get(), 20'000'000) > 0)
      continue;
    return verdict.value_or(Authority::Verdict::Yes);
  }
  static int onCall(sd_bus_message* call, void* data, sd_bus_error*) {
    auto& self = *static_cast<Polkit*>(data);
    if (sd_bus_message_is_method_call(call, nullptr, "CancelCheckAuthorization") > 0) {
      self.cancelled_ = true;
      return 1;
    }
    if (sd_bus_message_is_method_call(call, nullptr, "CheckAuthorization") <= 0) return 0;
    const char* kind = nullptr;
    const char* key = nullptr;
    const char* name = nullptr;
    const char* action = nullptr;
    sd_bus_message_enter_container(call, 'r', "sa{sv}");
    sd_bus_message_read(call, "sa{sv}", &kind, 1, &key, "s", &name);
    sd_bus_message_exit_container(call);
    sd_bus_message_read(call, "s", &action);
    sd_bus_message_skip(call, "a{ss}");
    sd_bus_message_read(call, "u", &self.flags_);
    self.subject_ = std::string(kind) + " " + key + " " + name;
    self.action_ = action;
    if (!self.silent_) sd_bus_reply_method_return(call, "(bba{ss})", self.authorised_, self.challenge_, 0);
    return 1;
  }

  PrivateBus private_;
  Loop loop_;
  Bus ours_;
  Bus polkit_;
  int authorised_ = 0;
  int challenge_ = 0;
  bool silent_ = false;
  bool cancelled_ = false;
  std::uint32_t flags_ = 99;
  std::string subject_;
  std::string action_;
};

TEST_F(Polkit, isAskedAboutTheBusName) {
  appear();
  authorised_ = 1;
  EXPECT_EQ(ask({.sender = ":1.77", .action = "a.b", .object = "/x", .interactive = false}), Authority::Verdict::Yes);
  EXPECT_EQ(subject_, "system-bus-name name :1.77");
  EXPECT_EQ(action_, "a.b");
  EXPECT_EQ(flags_, 0U);
}

TEST_F(Polkit, asksAPersonOnlyIfTheCallerLetsIt) {
  appear();
  ask({.sender = ":1.77", .action = "a.b", .object = "/x", .interactive = true});
  EXPECT_EQ(flags_, 1U);
}

TEST_F(Polkit, saysNoAndChallenge) {
  appear();
  EXPECT_EQ(ask({.sender = ":1.77", .action = "a.b", .object = "/x"}), Authority::Verdict::No);
  challenge_ = 1;
  EXPECT_EQ(ask({.sender = ":1.77", .action = "a.b", .object = "/x"}), Authority::Verdict::Challenge);
}

TEST_F(Polkit, isUnavailableWhenItIsNotThere) {
  EXPECT_EQ(ask({.sender = ":1.77", .action = "a.b", .object = "/x"}), Authority::Verdict::Unavailable);
}

TEST_F(Polkit, isUnavailableWhenItDoesNotAnswerAndIsToldSo) {
  appear();
  silent_ = true;
  EXPECT_EQ(ask({.sender = ":1.77", .action = "a.b", .object = "/x"}, 50'000), Authority::Verdict::Unavailable);
  while (!cancelled_ && sd_event_run(loop_.get(), 20'000'000) > 0)
    continue;
  EXPECT_TRUE(cancelled_);
}

TEST_F(Polkit, whoEndsWithQuestionsOpenIsNotAnswered) {
  appear();
  silent_ = true;
  bool answered = false;
  {
    PolkitAuthority authority(ours_.get());
    authority.check({.sender = ":1.77", .action = "a.b", .object = "/x"}, [&](auto) { answered = true; });
    while (subject_.empty() && sd_event_run(loop_.get(), 20'000'000) > 0)
      continue;
  }
  EXPECT_FALSE(answered);
}

}  // namespace
}  // namespace coffer::api::test
