#include "api/subscriptions.hpp"

#include <algorithm>

#include "dbus/names.hpp"
#include "model/limits.hpp"

namespace coffer::api {

void Subscriptions::subscribe(Call& call, std::optional<std::uint64_t> task, bool allUsers) {
  const std::string sender(call.sender());
  const Subscriber subscriber{.caller = call.caller, .task = task, .allUsers = allUsers};
  if (const auto found = subscribers_.find(sender); found != subscribers_.end()) {
    found->second = subscriber;
    return call.answer();
  }
  const auto mine =
      std::ranges::count_if(subscribers_, [&](const auto& each) { return each.second.caller.uid == call.caller.uid; });
  if (static_cast<std::size_t>(mine) >= limits::kSubscribersPerUser || !watches_.add(sender))
    return call.fail({ErrorCode::Limit, "as many connections are subscribed as may be; close one of yours first"});
  subscribers_.emplace(sender, subscriber);
  call.answer();
}

void Subscriptions::unsubscribe(Call& call) {
  if (const auto found = subscribers_.find(call.sender()); found != subscribers_.end()) {
    subscribers_.erase(found);
    watches_.remove(call.sender());
  }
  call.answer();
}

void Subscriptions::gone(const std::string& sender) { subscribers_.erase(sender); }

bool Subscriptions::wants(const Subscriber& subscriber, ObjectKind kind, std::uint64_t id, Ownership owner) {
  const bool own = owner.machine || owner.uid == subscriber.caller.uid;
  // An administrator says whether everybody's, or names the one task.
  const bool asked = subscriber.allUsers || subscriber.task;
  if (!own && !(subscriber.caller.administrator && asked)) return false;
  return !subscriber.task || (kind == ObjectKind::Task && *subscriber.task == id);
}

template <class Fill>
void Subscriptions::tell(ObjectKind kind, std::uint64_t id, Ownership owner, const std::string& path,
                         std::string_view interface, const char* member, Fill fill) {
  for (const auto& [sender, subscriber] : subscribers_) {
    if (!wants(subscriber, kind, id, owner)) continue;
    sd_bus_message* raw = nullptr;
    if (sd_bus_message_new_signal(bus_, &raw, path.c_str(), std::string(interface).c_str(), member) < 0) return;
    const auto signal = Message::adopt(raw);
    Writer writer(raw);
    fill(writer, subscriber.caller);
    if (writer.error() >= 0) sd_bus_send_to(bus_, raw, sender.c_str(), nullptr);
  }
}

void Subscriptions::propertiesChanged(ObjectKind kind, std::uint64_t id) {
  const auto owner = backend_.owner(kind, id);
  const auto path = pathOf(kind, id).text;
  const auto object = objectAt(path);
  if (!owner || !object) return;
  const auto* interface = interfaces_.of(object->kind);
  tell(kind, id, *owner, path, names::kProperties, "PropertiesChanged", [&](Writer& writer, const Caller& caller) {
    writer.append(interface->name());
    // An object that went meanwhile has no properties; an empty dictionary says so.
    if (!interface->writeAll(caller, *object, writer)) writer.append(Dictionary{});
    writer.append(Strings{});
  });
}

void Subscriptions::taskChanged(std::uint64_t task, std::uint64_t sequence) {
  sd_bus_message* raw = nullptr;
  if (sd_bus_message_new_signal(bus_, &raw, std::string(names::kRootPath).c_str(), std::string(names::kManager).c_str(),
                                "TaskChanged") >= 0) {
    const auto signal = Message::adopt(raw);
    Writer writer(raw);
    writer.append(task);
    writer.append(sequence);
    sd_bus_send(bus_, raw, nullptr);
  }
  propertiesChanged(ObjectKind::Task, task);
  waits_.changed(task);
}

void Subscriptions::event(const EventView& event) {
  const auto owner = backend_.owner(ObjectKind::Task, event.task);
  if (!owner) return;
  tell(ObjectKind::Task, event.task, *owner, std::string(names::kRootPath), names::kManager, "Event",
       [&](Writer& writer, const Caller&) {
         writer.append(event.sequence);
         writer.append(event.task);
         writer.append(event.time);
         writer.append(event.type);
         writer.append(event.fields);
       });
}

void Subscriptions::objectAdded(ObjectKind kind, std::uint64_t id) {
  const auto owner = backend_.owner(kind, id);
  const auto path = pathOf(kind, id);
  const auto object = objectAt(path.text);
  if (!owner || !object) return;
  const auto* interface = interfaces_.of(object->kind);
  tell(kind, id, *owner, std::string(names::kRootPath), names::kObjectManager, "InterfacesAdded",
       [&](Writer& writer, const Caller& caller) {
         writer.append(path);
         writer.inside('a', "{sa{sv}}", [&] {
           writer.inside('e', "sa{sv}", [&] {
             writer.append(interface->name());
             if (!interface->writeAll(caller, *object, writer)) writer.append(Dictionary{});
           });
         });
       });
}

void Subscriptions::objectRemoved(ObjectKind kind, std::uint64_t id, Ownership owner) {
  const auto path = pathOf(kind, id);
  const auto object = objectAt(path.text);
  if (!object) return;
  const auto* interface = interfaces_.of(object->kind);
  tell(kind, id, owner, std::string(names::kRootPath), names::kObjectManager, "InterfacesRemoved",
       [&](Writer& writer, const Caller&) {
         writer.append(path);
         writer.append(Strings{interface->name()});
       });
  if (kind == ObjectKind::Task) waits_.changed(id);
}

void Subscriptions::objectChanged(ObjectKind kind, std::uint64_t id) { propertiesChanged(kind, id); }

}  // namespace coffer::api
