#include <algorithm>

#include "contract.hpp"
#include "world.hpp"

namespace coffer::api::test {
namespace {

using Managed = std::map<ObjectPath, std::map<std::string, Dictionary>>;

class Visibility : public World {
 protected:
  Visibility() { start(); }

  /// Paths of GetManagedObjects; the contents are only skipped, as the reader of calls knows fewer types.
  std::vector<std::string> managed(Client& who) {
    const auto answer = call(who, root(), names::kObjectManager, "GetManagedObjects");
    std::vector<std::string> paths;
    EXPECT_TRUE(answer.ok()) << answer.text;
    auto* message = answer.message.get();
    sd_bus_message_enter_container(message, 'a', "{oa{sa{sv}}}");
    while (sd_bus_message_enter_container(message, 'e', "oa{sa{sv}}") > 0) {
      const char* path = nullptr;
      sd_bus_message_read(message, "o", &path);
      paths.emplace_back(path);
      sd_bus_message_skip(message, "a{sa{sv}}");
      sd_bus_message_exit_container(message);
    }
    std::ranges::sort(paths);
    return paths;
  }
  std::string introspection(Client& who, const std::string& path) {
    const auto answer = call(who, path, names::kIntrospectable, "Introspect");
    return answer.ok() ? std::get<0>(answer.as<std::string>()) : answer.name();
  }
  Fill get(const char* interface, const char* property) {
    return [=](Writer& writer) {
      writer.append(interface);
      writer.append(property);
    };
  }
};

constexpr auto kTaskInterface = "org.cofferdam.Cofferdam1.Task";

TEST_F(Visibility, aForeignTaskIsInEveryWayLikeOneThatDoesNotExist) {
  for (const auto& path : {taskPath(17), taskPath(99)}) {
    SCOPED_TRACE(path);
    const std::vector<Answer> answers = [&] {
      std::vector<Answer> all;
      all.push_back(call(*bob_, path, names::kTask, "Cancel", options()));
      all.push_back(call(*bob_, path, names::kTask, "NoSuchMethod"));
      all.push_back(call(*bob_, path, names::kTask, "ReadText"));
      all.push_back(call(*bob_, path, names::kProperties, "Get", get(kTaskInterface, "Title")));
      all.push_back(call(*bob_, path, names::kProperties, "GetAll", [](Writer& w) { w.append(kTaskInterface); }));
      all.push_back(call(*bob_, path, names::kIntrospectable, "Introspect"));
      all.push_back(call(*bob_, path, names::kPeer, "Ping"));
      return all;
    }();
    for (const auto& answer : answers) {
      EXPECT_EQ(answer.name(), "UnknownObject");
      EXPECT_EQ(answer.text, "there is no object " + path + " that you may see");
    }
  }
  for (const auto id : {std::uint64_t{17}, std::uint64_t{99}}) {
    EXPECT_EQ(manager(*bob_, "GetTask", [&](Writer& w) { w.append(id); }).name(), "UnknownObject");
    EXPECT_EQ(manager(*bob_, "Subscribe", options({{"task", id}})).name(), "UnknownObject");
  }
  EXPECT_TRUE(backend_.changes.empty());
}

TEST_F(Visibility, theOwnerSeesTheirTask) {
  const auto answer = call(*alice_, taskPath(17), names::kProperties, "Get", get(kTaskInterface, "Title"));
  ASSERT_TRUE(answer.ok()) << answer.text;
  const char* title = nullptr;
  ASSERT_GT(sd_bus_message_read(answer.message.get(), "v", "s", &title), 0);
  EXPECT_STREQ(title, "zlib: alice's title");
  EXPECT_EQ(
      std::get<0>(manager(*alice_, "GetTask", [](Writer& w) { w.append(std::uint64_t{17}); }).as<ObjectPath>()).text,
      taskPath(17));
}

TEST_F(Visibility, managedObjectsAreTheCallersAndTheMachines) {
  const std::string top = root();
  EXPECT_EQ(managed(*alice_), (std::vector<std::string>{top + "/agent/claude_2dcode", top + "/project/7",
                                                        top + "/provider/3", top + "/provider/4", top + "/task/17"}));
  EXPECT_EQ(managed(*bob_), (std::vector<std::string>{top + "/agent/claude_2dcode", top + "/project/8",
                                                      top + "/provider/4", top + "/task/18"}));
}

TEST_F(Visibility, nodesBelowAreTheCallers) {
  EXPECT_TRUE(introspection(*alice_, std::string(names::kTaskPath)).contains("<node name=\"17\"/>"));
  const auto seen = introspection(*bob_, std::string(names::kTaskPath));
  EXPECT_FALSE(seen.contains("17"));
  EXPECT_TRUE(seen.contains("<node name=\"18\"/>"));
}

TEST_F(Visibility, listsAreTheCallers) {
  const auto list = [](Writer& writer) {
    writer.append(Dictionary{});
    writer.append(std::uint64_t{0});
    writer.append(std::uint32_t{0});
  };
  const auto answer = manager(*bob_, "ListTasks", list);
  ASSERT_TRUE(answer.ok());
  std::size_t rows = 0;
  sd_bus_message_enter_container(answer.message.get(), 'a', "a{sv}");
  while (sd_bus_message_at_end(answer.message.get(), 0) == 0) {
    sd_bus_message_skip(answer.message.get(), "a{sv}");
    ++rows;
  }
  EXPECT_EQ(rows, 1U);
}

TEST_F(Visibility, othersListsTakeSeeOther) {
  const auto list = [](Writer& writer) {
    writer.append(Dictionary{{"all-users", true}});
    writer.append(std::uint64_t{0});
    writer.append(std::uint32_t{0});
  };
  EXPECT_EQ(manager(*bob_, "ListTasks", list).name(), "AccessDenied");
  EXPECT_EQ(manager(*bob_, "Subscribe", options({{"all-users", true}})).name(), "AccessDenied");
  authority_.granted.insert(std::string(names::kActionSeeOther));
  EXPECT_TRUE(manager(*bob_, "ListTasks", list).ok());
}

TEST_F(Visibility, anAuthenticatedAdministratorSeesOthersOnThatConnection) {
  authority_.granted.insert(std::string(names::kActionSeeOther));
  EXPECT_TRUE(call(*bob_, taskPath(17), names::kPeer, "Ping").ok());
  authority_.granted.clear();
  EXPECT_TRUE(call(*bob_, taskPath(17), names::kPeer, "Ping").ok());
  EXPECT_EQ(managed(*bob_).size(), 7U);
  const auto second = client(kBob);
  EXPECT_EQ(call(*second, taskPath(17), names::kPeer, "Ping").name(), "UnknownObject");
  // Even the administrator is told of what is not there.
  EXPECT_EQ(call(*bob_, taskPath(99), names::kPeer, "Ping").name(), "UnknownObject");
}

TEST_F(Visibility, everyoneSeesTheMachinesProviderButNothingOfItsKey) {
  const auto answer = call(*bob_, pathOf(ObjectKind::Provider, 4).text, names::kProperties, "Get",
                           get("org.cofferdam.Cofferdam1.Provider", "KeyHint"));
  const char* hint = nullptr;
  ASSERT_TRUE(answer.ok()) << answer.text;
  ASSERT_GT(sd_bus_message_read(answer.message.get(), "v", "s", &hint), 0);
  EXPECT_STREQ(hint, "");
}

TEST_F(Visibility, everyoneLearnsThatATaskChangedAndNobodyElseLearnsMore) {
  alice_->listen();
  bob_->listen();
  ASSERT_TRUE(manager(*alice_, "Subscribe", options()).ok());
  ASSERT_TRUE(manager(*bob_, "Subscribe", options()).ok());
  backend_.observer->taskChanged(17, 6);
  backend_.observer->event(
      {.sequence = 6, .task = 17, .time = 1, .type = "plan-drafted", .fields = {{"words", std::string("secret")}}});
  backend_.observer->objectAdded(ObjectKind::Task, 17);
  backend_.observer->objectChanged(ObjectKind::Project, 7);
  backend_.observer->objectRemoved(ObjectKind::Task, 17, {.uid = kAlice});
  settle(*alice_);
  settle(*bob_);
  EXPECT_EQ(bob_->signals, (std::vector<std::string>{"org.cofferdam.Cofferdam1.Manager.TaskChanged"}));
  EXPECT_EQ(alice_->signals,
            (std::vector<std::string>{
                "org.cofferdam.Cofferdam1.Manager.TaskChanged", "org.freedesktop.DBus.Properties.PropertiesChanged",
                "org.cofferdam.Cofferdam1.Manager.Event", "org.freedesktop.DBus.ObjectManager.InterfacesAdded",
                "org.freedesktop.DBus.Properties.PropertiesChanged",
                "org.freedesktop.DBus.ObjectManager.InterfacesRemoved"}));
}

TEST_F(Visibility, whoDidNotSubscribeGetsNoContent) {
  alice_->listen();
  backend_.observer->taskChanged(17, 6);
  backend_.observer->event({.sequence = 6, .task = 17, .time = 1, .type = "x", .fields = {}});
  settle(*alice_);
  EXPECT_EQ(alice_->signals, (std::vector<std::string>{"org.cofferdam.Cofferdam1.Manager.TaskChanged"}));
}

TEST_F(Visibility, whoUnsubscribedGetsNoContent) {
  alice_->listen();
  ASSERT_TRUE(manager(*alice_, "Subscribe", options()).ok());
  ASSERT_TRUE(manager(*alice_, "Unsubscribe").ok());
  backend_.observer->taskChanged(17, 6);
  settle(*alice_);
  EXPECT_EQ(alice_->signals.size(), 1U);
}

TEST_F(Visibility, aSubscriberOfOneTaskHearsOfNoOther) {
  backend_.tasks[19] = {.id = 19, .project = 7, .owner = kAlice, .sequence = 1};
  alice_->listen();
  ASSERT_TRUE(manager(*alice_, "Subscribe", options({{"task", std::uint64_t{17}}})).ok());
  backend_.observer->event({.sequence = 7, .task = 19, .time = 1, .type = "x", .fields = {}});
  backend_.observer->event({.sequence = 8, .task = 17, .time = 1, .type = "x", .fields = {}});
  settle(*alice_);
  EXPECT_EQ(alice_->signals.size(), 1U);
}

TEST_F(Visibility, anAdministratorWhoNamesATaskHearsOfThatOne) {
  authority_.granted.insert(std::string(names::kActionSeeOther));
  backend_.tasks[19] = {.id = 19, .project = 7, .owner = kAlice, .sequence = 1};
  bob_->listen();
  ASSERT_TRUE(call(*bob_, taskPath(17), names::kPeer, "Ping").ok());
  ASSERT_TRUE(manager(*bob_, "Subscribe", options({{"task", std::uint64_t{17}}})).ok());
  backend_.observer->event({.sequence = 7, .task = 19, .time = 1, .type = "x", .fields = {}});
  backend_.observer->event({.sequence = 8, .task = 17, .time = 1, .type = "x", .fields = {}});
  settle(*bob_);
  EXPECT_EQ(bob_->signals, (std::vector<std::string>{"org.cofferdam.Cofferdam1.Manager.Event"}));
}

TEST_F(Visibility, liveIntrospectionIsTheContract) {
  const Contract contract;
  const std::map<std::string, std::string> where = {
      {std::string(names::kManager), root()},
      {std::string(names::kTask), taskPath(17)},
      {std::string(names::kProject), pathOf(ObjectKind::Project, 7).text},
      {std::string(names::kProvider), pathOf(ObjectKind::Provider, 3).text},
      {std::string(names::kAgent), pathOfAgent("claude-code").text}};
  for (auto* interface : contract.interfaces()) {
    SCOPED_TRACE(interface->name);
    const auto text = introspection(*alice_, where.at(interface->name));
    auto* node = g_dbus_node_info_new_for_xml(text.c_str(), nullptr);
    ASSERT_NE(node, nullptr) << text;
    auto* live = g_dbus_node_info_lookup_interface(node, interface->name);
    ASSERT_NE(live, nullptr);
    EXPECT_EQ(described(live), described(interface));
    g_dbus_node_info_unref(node);
  }
}

TEST_F(Visibility, everyPropertyIsAnsweredWithTheTypeOfTheContract) {
  const Contract contract;
  for (auto** property = contract.named(names::kTask)->properties; *property != nullptr; ++property) {
    SCOPED_TRACE((*property)->name);
    const auto answer = call(*alice_, taskPath(17), names::kProperties, "Get", get(kTaskInterface, (*property)->name));
    ASSERT_TRUE(answer.ok()) << answer.text;
    char type = 0;
    const char* contents = nullptr;
    ASSERT_GT(sd_bus_message_peek_type(answer.message.get(), &type, &contents), 0);
    EXPECT_STREQ(contents, (*property)->signature);
  }
}

}  // namespace
}  // namespace coffer::api::test
