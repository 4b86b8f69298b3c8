#include <array>

#include "os/log.hpp"
#include "world.hpp"

namespace coffer::api::test {
namespace {

class Authorisation : public World {
 protected:
  Authorisation() { log::setTarget(log::Target::Null); }

  static Fill digest(const std::string& text) {
    return [text](Writer& writer) {
      writer.append(text);
      writer.append(Dictionary{});
    };
  }
  void grant(std::string_view action) { authority_.granted.insert(std::string(action)); }
};

TEST_F(Authorisation, aMemberWithoutAnEntryIsDeniedToEveryone) {
  static constexpr auto kTable = std::to_array<Entry>({{Operation::Call, names::kTask, "Reply", {}}});
  start(Bouncer(kTable));
  const auto administrator = client(kRoot);
  EXPECT_EQ(call(*alice_, taskPath(17), names::kTask, "Cancel", options()).name(), "AccessDenied");
  EXPECT_EQ(call(*administrator, taskPath(17), names::kTask, "Cancel", options()).name(), "AccessDenied");
  EXPECT_TRUE(backend_.changes.empty());
  EXPECT_TRUE(call(*alice_, taskPath(17), names::kTask, "Reply", digest("yes")).ok());
}

TEST_F(Authorisation, nothingHappensWithoutPolkitsYes) {
  start();
  const auto answer = call(*alice_, taskPath(17), names::kTask, "AcceptWork", digest("sha256:1"));
  EXPECT_EQ(answer.name(), "AccessDenied");
  EXPECT_NE(answer.text.find(names::kActionLand), std::string::npos);
  EXPECT_TRUE(backend_.changes.empty());
  grant(names::kActionLand);
  EXPECT_TRUE(call(*alice_, taskPath(17), names::kTask, "AcceptWork", digest("sha256:1")).ok());
  ASSERT_EQ(backend_.changes.size(), 1U);
  EXPECT_EQ(backend_.changes[0].text, "sha256:1 ");
}

TEST_F(Authorisation, polkitIsAskedAboutTheCallersConnectionAndObject) {
  start();
  call(*alice_, taskPath(17), names::kTask, "Cancel", options());
  call(*alice_, taskPath(17), names::kTask, "Cancel", options(), true);
  ASSERT_EQ(authority_.questions.size(), 2U);
  EXPECT_EQ(authority_.questions[0].sender, alice_->name());
  EXPECT_EQ(authority_.questions[0].action, names::kActionDecideOwn);
  EXPECT_EQ(authority_.questions[0].object, taskPath(17));
  EXPECT_FALSE(authority_.questions[0].interactive);
  EXPECT_TRUE(authority_.questions[1].interactive);
}

TEST_F(Authorisation, anothersTaskTakesAnotherAction) {
  start();
  grant(names::kActionSeeOther);
  grant(names::kActionDecideOwn);
  EXPECT_EQ(call(*bob_, taskPath(17), names::kTask, "Cancel", options()).name(), "AccessDenied");
  EXPECT_EQ(authority_.questions.back().action, names::kActionDecideOther);
  grant(names::kActionDecideOther);
  EXPECT_TRUE(call(*bob_, taskPath(17), names::kTask, "Cancel", options()).ok());
  ASSERT_EQ(backend_.changes.size(), 1U);
  EXPECT_EQ(backend_.changes[0].request.caller.uid, kBob);
  EXPECT_TRUE(backend_.changes[0].request.caller.administrator);
}

TEST_F(Authorisation, whatWasTakenAwayIsThereForTheCallThatDidItAndNothingElse) {
  start();
  for (const auto action : {names::kActionConfigure, names::kActionProviderKey, names::kActionDecideOwn})
    grant(action);
  backend_.former[99] = {.uid = kAlice};
  const std::array<std::tuple<ObjectKind, std::string_view, const char*, const char*>, 3> calls = {
      {{ObjectKind::Project, names::kProject, "Remove", "Set"},
       {ObjectKind::Provider, names::kProvider, "Remove", "Set"},
       {ObjectKind::Task, names::kTask, "Delete", "Cancel"}}};
  for (const auto& [kind, interface, takesAway, other] : calls) {
    const auto path = pathOf(kind, 99).text;
    EXPECT_EQ(call(*alice_, path, interface, takesAway, options()).name(), "") << path;
    EXPECT_EQ(call(*alice_, path, interface, other, options()).name(), "UnknownObject") << path;
    EXPECT_EQ(call(*bob_, path, interface, takesAway, options()).name(), "UnknownObject") << path;
  }
  EXPECT_EQ(backend_.changes.size(), 3U);
}

TEST_F(Authorisation, nobodyIsAskedForAPasswordForANumberThatWasMistyped) {
  start();
  const auto number = [](std::uint64_t id) { return [id](Writer& writer) { writer.append(id); }; };
  for (const std::uint64_t id : {17U, 99U}) {
    EXPECT_EQ(call(*bob_, taskPath(id), names::kTask, "Cancel", options(), true).name(), "UnknownObject");
    EXPECT_EQ(manager(*bob_, "GetTask", number(id)).name(), "UnknownObject");
    EXPECT_EQ(manager(*bob_, "Subscribe", options({{"task", id}})).name(), "UnknownObject");
  }
  // Alike for what is another's and what is nobody's, also in what polkit is asked.
  ASSERT_EQ(authority_.questions.size(), 2U);
  for (const auto& question : authority_.questions) {
    EXPECT_EQ(question.action, names::kActionSeeOther);
    EXPECT_FALSE(question.interactive);
  }
}

TEST_F(Authorisation, whoIsAllowedToSeeAllUsersNamesTheirTasksToo) {
  start();
  grant(names::kActionSeeOther);
  const auto all = [](Writer& writer) {
    writer.append(Dictionary{{"all-users", true}});
    writer.append(std::uint64_t{0});
    writer.append(std::uint32_t{1});
  };
  ASSERT_TRUE(manager(*bob_, "ListTasks", all, true).ok());
  ASSERT_EQ(authority_.questions.size(), 1U);
  EXPECT_TRUE(authority_.questions[0].interactive);
  authority_.granted.clear();
  EXPECT_TRUE(manager(*bob_, "GetTask", [](Writer& writer) { writer.append(std::uint64_t{17}); }).ok());
  EXPECT_TRUE(manager(*bob_, "Subscribe", options({{"task", std::uint64_t{17}}})).ok());
  EXPECT_TRUE(manager(*bob_, "ListEvents", [](Writer& writer) {
                writer.append(std::uint64_t{0});
                writer.append(std::uint32_t{0});
                writer.append(Dictionary{{"task", std::uint64_t{17}}});
              }).ok());
  EXPECT_EQ(authority_.questions.size(), 1U);
}

TEST_F(Authorisation, noCallIsLookedAtBeforeItsUserIsKnownAndTheOrderIsKept) {
  start();
  settle(*bob_);
  backend_.strangers = true;
  const auto carol = client(kAlice);
  const auto first = send(*carol, taskPath(17), names::kPeer, "Ping");
  const auto second = send(*carol, taskPath(99), names::kPeer, "Ping");
  until([&] { return backend_.meeting.size() == 1; });
  settle(*bob_);
  EXPECT_FALSE(*first || *second);
  EXPECT_EQ(backend_.meeting.size(), 1U) << "one question for one connection";
  // While it was asked for, the uid turned out to be another person's.
  backend_.tasks.erase(17);
  backend_.meeting.front()(Nothing{});
  until([&] { return *first && *second; });
  EXPECT_EQ((*first)->name(), "UnknownObject");
  EXPECT_EQ((*second)->name(), "UnknownObject");
  EXPECT_EQ(call(*carol, taskPath(99), names::kPeer, "Ping").name(), "UnknownObject") << "and it is not asked again";
  EXPECT_EQ(backend_.meeting.size(), 1U);
  const auto dave = client(kAlice);
  const auto refused = send(*dave, root(), names::kPeer, "Ping");
  until([&] { return backend_.meeting.size() == 2; });
  backend_.meeting.back()(std::unexpected(Error{ErrorCode::Environment, "nobody says who that is"}));
  until([&] { return refused->has_value(); });
  EXPECT_EQ((*refused)->name(), "Environment");
}

TEST_F(Authorisation, theMachinesProviderTakesTheSystemsAction) {
  start();
  grant(names::kActionProviderKey);
  const auto add = [&](bool machine) {
    return manager(*alice_, "AddProvider", [&](Writer& writer) {
      writer.append("name");
      writer.append("anthropic");
      writer.append(Dictionary{{"machine", machine}});
    });
  };
  EXPECT_TRUE(add(false).ok());
  EXPECT_EQ(add(true).name(), "AccessDenied");
  EXPECT_EQ(authority_.questions.back().action, names::kActionConfigureSystem);
  EXPECT_EQ(call(*alice_, pathOf(ObjectKind::Provider, 4).text, names::kProvider, "Remove", options()).name(),
            "AccessDenied");
  EXPECT_EQ(authority_.questions.back().action, names::kActionConfigureSystem);
}

TEST_F(Authorisation, whoMaySpendTheMachinesKeyIsForAnAdministratorToSay) {
  start();
  grant(names::kActionProviderKey);
  const auto set = [&](std::uint64_t provider) {
    return call(*alice_, pathOf(ObjectKind::Provider, provider).text, names::kProvider, "Set",
                options({{"spenders", Strings{"alice", "%developers"}}}));
  };
  EXPECT_EQ(set(4).name(), "AccessDenied");
  EXPECT_EQ(authority_.questions.back().action, names::kActionConfigureSystem);
  EXPECT_TRUE(backend_.changes.empty());
  grant(names::kActionConfigureSystem);
  EXPECT_TRUE(set(4).ok());
  EXPECT_EQ(backend_.changes.back().text, "alice %developers ");
}

TEST_F(Authorisation, whatIsTrueIsAskedAgainAfterThePersonTyped) {
  start();
  grant(names::kActionDecideOwn);
  authority_.slow = true;
  const auto place = send(*alice_, taskPath(17), names::kTask, "Cancel", options());
  until([&] { return authority_.waiting() == 1; });
  EXPECT_TRUE(backend_.changes.empty());
  backend_.tasks.erase(17);
  authority_.answerAll();
  until([&] { return place->has_value(); });
  EXPECT_EQ((*place)->name(), "UnknownObject");
  EXPECT_TRUE(backend_.changes.empty());
}

TEST_F(Authorisation, anAllowedCallActsOnce) {
  start();
  grant(names::kActionDecideOwn);
  authority_.slow = true;
  const auto place = send(*alice_, taskPath(17), names::kTask, "Cancel", options());
  until([&] { return authority_.waiting() == 1; });
  authority_.answerAll();
  authority_.answerAll();
  until([&] { return place->has_value(); });
  EXPECT_EQ(backend_.changes.size(), 1U);
}

TEST_F(Authorisation, oneUserCannotFillPolkitsQueue) {
  start();
  authority_.slow = true;
  std::vector<std::shared_ptr<std::optional<Answer>>> places;
  for (std::size_t i = 0; i <= limits::kAuthorisationsPerUser; ++i)
    places.push_back(send(*alice_, taskPath(17), names::kTask, "Cancel", options()));
  until([&] { return places.back()->has_value(); });
  EXPECT_EQ((*places.back())->name(), "Limit");
  const auto bobs = send(*bob_, taskPath(18), names::kTask, "Cancel", options());
  until([&] { return authority_.waiting() == limits::kAuthorisationsPerUser + 1; });
  authority_.answerAll();
  until([&] { return bobs->has_value() && places.front()->has_value(); });
}

TEST_F(Authorisation, rootIsNotAsked) {
  start();
  const auto administrator = client(kRoot);
  EXPECT_TRUE(call(*administrator, taskPath(17), names::kTask, "Cancel", options()).ok());
  EXPECT_TRUE(authority_.questions.empty());
}

TEST_F(Authorisation, rootOwnsNothing) {
  start();
  const auto administrator = client(kRoot);
  const auto answer = manager(*administrator, "CreateTask", [&](Writer& writer) {
    writer.append(pathOf(ObjectKind::Project, 7));
    writer.append("do it");
    writer.append(Dictionary{});
  });
  EXPECT_EQ(answer.name(), "AccessDenied");
  EXPECT_TRUE(backend_.changes.empty());
}

TEST_F(Authorisation, aConnectionTheBusDoesNotKnowIsNobody) {
  start();
  uids_.erase(bob_->name());
  EXPECT_EQ(manager(*bob_, "ListTasks").name(), "AccessDenied");
}

TEST_F(Authorisation, theLogTakesTheSystemsAction) {
  start();
  const auto set = [&](const char* property, const char* value) {
    return call(*alice_, std::string(names::kLogControlPath), names::kProperties, "Set", [&](Writer& writer) {
      writer.append(names::kLogControl);
      writer.append(property);
      writer.variant(std::string(value));
    });
  };
  const auto before = log::mostVerbose();
  EXPECT_EQ(set("LogLevel", "debug").name(), "AccessDenied");
  EXPECT_EQ(log::mostVerbose(), before);
  grant(names::kActionConfigureSystem);
  EXPECT_TRUE(set("LogLevel", "debug").ok());
  EXPECT_EQ(log::mostVerbose(), log::Level::Debug);
  EXPECT_EQ(set("LogLevel", "loud").name(), "InvalidArgument");
  EXPECT_EQ(set("SyslogIdentifier", "x").name(), SD_BUS_ERROR_PROPERTY_READ_ONLY);
  log::setMostVerbose(before);
}

TEST_F(Authorisation, noPropertyOfOursCanBeSet) {
  start();
  const auto answer = call(*alice_, taskPath(17), names::kProperties, "Set", [](Writer& writer) {
    writer.append(names::kTask);
    writer.append("Title");
    writer.variant(std::string("other"));
  });
  EXPECT_EQ(answer.name(), SD_BUS_ERROR_PROPERTY_READ_ONLY);
}

}  // namespace
}  // namespace coffer::api::test
