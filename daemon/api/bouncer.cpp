#include "api/bouncer.hpp"

#include <array>

#include "dbus/names.hpp"

namespace coffer::api {
namespace {

using namespace names;

constexpr Access kOpen{};
constexpr Access kDecide{kActionDecideOwn, kActionDecideOther};
constexpr Access kOthersSeen{{}, kActionSeeOther};
constexpr Access kConfigure{kActionConfigure, kActionConfigureSystem};
constexpr Access kKey{kActionProviderKey, kActionConfigureSystem};

// Seeing another's object at all takes see-other, before this table is asked.
constexpr auto kTable = std::to_array<Entry>({
    {Operation::Call, kManager, "AddProject", {kActionCreate, kActionCreate}},
    {Operation::Call, kManager, "CreateTask", {kActionCreate, kActionCreate}},
    {Operation::Call, kManager, "GetTask", kOpen},
    {Operation::Call, kManager, "GetProject", kOpen},
    {Operation::Call, kManager, "ListTasks", kOthersSeen},
    {Operation::Call, kManager, "ListEvents", kOthersSeen},
    {Operation::Call, kManager, "AddProvider", kKey},
    {Operation::Call, kManager, "Subscribe", kOthersSeen},
    {Operation::Call, kManager, "Unsubscribe", kOpen},
    {Operation::Call, kManager, "CheckSystem", kOpen},
    {Operation::Call, kManager, "Reload", {kActionConfigureSystem, kActionConfigureSystem}},
    {Operation::Get, kManager, "*", kOpen},

    {Operation::Call, kProject, "Set", kConfigure},
    {Operation::Call, kProject, "Remove", kConfigure},
    {Operation::Get, kProject, "*", kOpen},

    {Operation::Call, kTask, "AcceptPlan", kDecide},
    {Operation::Call, kTask, "AcceptWork", {kActionLand, kActionDecideOther}},
    {Operation::Call, kTask, "Reply", kDecide},
    {Operation::Call, kTask, "Retry", kDecide},
    {Operation::Call, kTask, "Cancel", kDecide},
    {Operation::Call, kTask, "Delete", kDecide},
    {Operation::Call, kTask, "ReadText", kOpen},
    {Operation::Call, kTask, "Open", kOpen},
    {Operation::Call, kTask, "ListRuns", kOpen},
    {Operation::Call, kTask, "ListFindings", kOpen},
    {Operation::Call, kTask, "Wait", kOpen},
    {Operation::Get, kTask, "*", kOpen},

    {Operation::Call, kAgent, "Test", {kActionCreate, kActionCreate}},
    {Operation::Get, kAgent, "*", kOpen},

    {Operation::Call, kProvider, "SetKey", kKey},
    {Operation::Call, kProvider, "Set", kKey},
    {Operation::Call, kProvider, "Remove", kKey},
    {Operation::Get, kProvider, "*", kOpen},

    {Operation::Call, kPeer, "Ping", kOpen},
    {Operation::Call, kPeer, "GetMachineId", kOpen},
    {Operation::Call, kIntrospectable, "Introspect", kOpen},
    {Operation::Call, kProperties, "Get", kOpen},
    {Operation::Call, kProperties, "GetAll", kOpen},
    // Which property is set decides, see the entries of Operation::Set.
    {Operation::Call, kProperties, "Set", kOpen},
    {Operation::Call, kObjectManager, "GetManagedObjects", kOpen},

    {Operation::Get, kLogControl, "*", kOpen},
    {Operation::Set, kLogControl, "LogLevel", {kActionConfigureSystem, kActionConfigureSystem}},
    {Operation::Set, kLogControl, "LogTarget", {kActionConfigureSystem, kActionConfigureSystem}},
});

}  // namespace

Bouncer::Bouncer() : table_(kTable) {}

std::optional<Access> Bouncer::access(Operation operation, std::string_view interface, std::string_view member) const {
  for (const auto& entry : table_) {
    if (entry.operation != operation || entry.interface != interface) continue;
    if (entry.member == member || (operation == Operation::Get && entry.member == "*")) return entry.access;
  }
  return std::nullopt;
}

}  // namespace coffer::api
