#include "api/bouncer.hpp"

#include <regex>
#include <set>

#include <gtest/gtest.h>

#include "api/interfaces.hpp"
#include "contract.hpp"
#include "dbus/names.hpp"
#include "world.hpp"

namespace coffer::api::test {
namespace {

/// The tables of the code: a service that nobody calls.
class Tables : public World {
 protected:
  Tables() { start(); }
  Contract contract_;
  Bouncer bouncer_;
};

TEST_F(Tables, everyMethodOfTheContractHasAnEntryThatSaysWhatItsAnnotationsSay) {
  for (auto* interface : contract_.interfaces())
    for (auto** method = interface->methods; method != nullptr && *method != nullptr; ++method) {
      SCOPED_TRACE(std::string(interface->name) + "." + (*method)->name);
      const auto access = bouncer_.access(Operation::Call, interface->name, (*method)->name);
      ASSERT_TRUE(access.has_value());
      const auto own = annotation((*method)->annotations, names::kAccessOwn);
      const auto other = annotation((*method)->annotations, names::kAccessOther);
      EXPECT_EQ(access->own, own);
      // Where only one is said it holds for everything; see-other alone goes the other way.
      EXPECT_EQ(access->other, other.empty() ? own : other);
    }
}

TEST_F(Tables, everyPropertyOfTheContractMayBeReadAndNoneMayBeSet) {
  for (auto* interface : contract_.interfaces())
    for (auto** property = interface->properties; property != nullptr && *property != nullptr; ++property) {
      SCOPED_TRACE(std::string(interface->name) + "." + (*property)->name);
      EXPECT_TRUE(bouncer_.access(Operation::Get, interface->name, (*property)->name).has_value());
      EXPECT_EQ((*property)->flags, G_DBUS_PROPERTY_INFO_FLAGS_READABLE);
      EXPECT_FALSE(bouncer_.access(Operation::Set, interface->name, (*property)->name).has_value());
    }
}

TEST_F(Tables, everyEntryIsOfAMemberThatExists) {
  const std::set<std::string> standard = {"org.freedesktop.DBus.Peer", "org.freedesktop.DBus.Introspectable",
                                          "org.freedesktop.DBus.Properties", "org.freedesktop.DBus.ObjectManager"};
  for (const auto& entry : bouncer_.table()) {
    SCOPED_TRACE(std::string(entry.interface) + "." + std::string(entry.member));
    if (standard.contains(std::string(entry.interface))) continue;
    const auto* interface = service_->interfaces().named(entry.interface);
    ASSERT_NE(interface, nullptr);
    if (entry.operation == Operation::Call) {
      EXPECT_NE(interface->method(entry.member), nullptr);
    } else if (entry.member != "*") {
      const auto infos = interface->properties();
      EXPECT_NE(std::ranges::find(infos, entry.member, &Interface::PropertyInfo::name), infos.end());
    }
  }
}

TEST_F(Tables, everyActionIsOneThatPolkitKnows) {
  for (const auto& entry : bouncer_.table())
    for (const auto action : {entry.access.own, entry.access.other})
      EXPECT_TRUE(action.empty() || std::ranges::find(names::kActions, action) != names::kActions.end()) << action;
}

TEST_F(Tables, codeAndContractHaveTheSameMembersWithTheSameTypes) {
  for (auto* info : contract_.interfaces()) {
    SCOPED_TRACE(info->name);
    const auto* interface = service_->interfaces().named(info->name);
    ASSERT_NE(interface, nullptr);
    std::set<std::string> said;
    for (auto** each = info->methods; each != nullptr && *each != nullptr; ++each)
      said.insert(std::string((*each)->name) + " " + signature((*each)->in_args) + " " + signature((*each)->out_args));
    for (auto** each = info->properties; each != nullptr && *each != nullptr; ++each)
      said.insert(std::string((*each)->name) + " " + (*each)->signature);
    std::set<std::string> done;
    for (const auto& method : interface->methods())
      done.insert(method.name + " " + method.in + " " + method.out);
    for (const auto& property : interface->properties())
      done.insert(property.name + " " + property.type);
    EXPECT_EQ(said, done);
  }
}

TEST(Contract, everyMemberIsDescribedBeforeIt) {
  for (const auto* name : {"Manager", "Project", "Task", "Agent", "Provider"}) {
    const auto text = interfaceFile(std::string("org.cofferdam.Cofferdam1.") + name);
    const std::regex member("(-->)?\\s*<(method|property|signal) name=\"(\\w+)\"");
    for (std::sregex_iterator at(text.begin(), text.end(), member); at != std::sregex_iterator(); ++at)
      EXPECT_TRUE((*at)[1].matched) << name << "." << (*at)[3];
  }
}

TEST(Contract, everyMethodThatNeedsAnActionTakesARequestId) {
  const Contract contract;
  for (auto* interface : contract.interfaces()) {
    const auto text = interfaceFile(interface->name);
    for (auto** method = interface->methods; method != nullptr && *method != nullptr; ++method) {
      if (annotation((*method)->annotations, names::kAccessOwn).empty()) continue;
      const auto at = text.find(std::string("<method name=\"") + (*method)->name + "\"");
      const auto comment = text.substr(text.rfind("<!--", at), at - text.rfind("<!--", at));
      EXPECT_NE(comment.find("request-id"), std::string::npos) << (*method)->name;
    }
  }
}

TEST(Bouncer, deniesWhatHasNoEntry) {
  const Bouncer bouncer;
  EXPECT_FALSE(bouncer.access(Operation::Call, names::kTask, "Pause").has_value());
  EXPECT_FALSE(bouncer.access(Operation::Call, names::kTask, "*").has_value());
  EXPECT_FALSE(bouncer.access(Operation::Get, "org.example.Other", "State").has_value());
  EXPECT_FALSE(bouncer.access(Operation::Set, names::kLogControl, "SyslogIdentifier").has_value());
}

}  // namespace
}  // namespace coffer::api::test
