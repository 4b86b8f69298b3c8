#include "api/dispatcher.hpp"

#include <algorithm>
#include <ctime>
#include <format>
#include <memory>

#include <systemd/sd-event.h>
#include <systemd/sd-id128.h>

#include "api/introspection.hpp"
#include "dbus/names.hpp"
#include "model/limits.hpp"
#include "os/log.hpp"

namespace coffer::api {
namespace {

void unknownMethod(Call& call) {
  call.failAs(SD_BUS_ERROR_UNKNOWN_METHOD,
              std::format("there is no method {} of {} at {}", call.member(), call.interface(), call.path()));
}

void invalidSignature(Call& call, std::string_view wanted) {
  call.failAs(SD_BUS_ERROR_INVALID_ARGS, std::format("{} takes ({})", call.member(), wanted));
}

}  // namespace

int Dispatcher::start() { return sd_bus_add_filter(bus_, filter_.out(), &Dispatcher::onMessage, this); }

int Dispatcher::onMessage(sd_bus_message* message, void* data, sd_bus_error*) {
  if (sd_bus_message_is_method_call(message, nullptr, nullptr) <= 0) return 0;
  auto& self = *static_cast<Dispatcher*>(data);
  const char* path = sd_bus_message_get_path(message);
  auto object = objectAt(path == nullptr ? std::string_view() : std::string_view(path));
  const auto call = std::make_shared<Call>(Message::share(message), object.value_or(Object{}));
  if (!object)
    self.unknownObject(*call);
  else
    self.take(call);
  return 1;
}

void Dispatcher::take(const CallPointer& call) {
  const auto caller = connections_.caller(call->sender());
  if (!caller) return call->fail({ErrorCode::AccessDenied, "the bus does not know whose connection this is"});
  call->caller = *caller;
  const std::string sender(call->sender());
  if (connections_.isMet(sender)) return look(call);
  // In the order they came: what a connection sent first is answered first.
  auto& waiting = unmet_[sender];
  if (waiting.size() >= limits::kAccountQuestions)
    return call->fail({ErrorCode::Limit, "as many of your calls wait for the machine's name service as may"});
  waiting.push_back(call);
  if (waiting.size() > 1) return;
  backend_.meet(caller->uid, [this, sender](const std::expected<Nothing, Error>& met) {
    const auto calls = unmet_.extract(sender);
    if (met) connections_.meet(sender);
    for (const auto& each : calls.mapped()) {
      if (met)
        look(each);
      else
        each->fail(met.error());
    }
  });
}

void Dispatcher::look(const CallPointer& call) {
  if (visible(*call)) return route(call);
  if (call->caller.administrator || !call->object().owned()) return unknownObject(*call);
  // Somebody else's, or nobody's: who may see others' objects learns which, everyone else gets the same answer for
  // both. Nobody is asked for a password for a number that was mistyped: that takes a call with all-users.
  authorise(
      call, names::kActionSeeOther, false,
      [this](const CallPointer& admitted) {
        connections_.makeAdministrator(admitted->sender());
        admitted->caller.administrator = true;
        if (!visible(*admitted)) return unknownObject(*admitted);
        route(admitted);
      },
      [this](const CallPointer& denied, auto) { unknownObject(*denied); });
}

std::optional<Ownership> Dispatcher::ownerOf(const Call& call) const {
  const auto kind = call.object().owned();
  if (!kind) return std::nullopt;
  if (auto owner = backend_.owner(*kind, call.object().id)) return owner;
  const auto* interface = interfaces_.of(call.object().kind);
  const bool ours = interface != nullptr && interface->name() == call.interface();
  const auto* method = ours ? interface->method(call.member()) : nullptr;
  return method != nullptr && method->takesAway ? backend_.formerOwner(*kind, call.object().id) : std::nullopt;
}

bool Dispatcher::visible(const Call& call) const {
  const auto& object = call.object();
  if (object.kind == Object::Kind::Agent) {
    for (const auto& agent : backend_.agents(call.caller))
      if (agent.name == object.name) return true;
    return false;
  }
  if (!object.owned()) return true;
  const auto owner = ownerOf(call);
  return owner && (owner->machine || owner->uid == call.caller.uid || call.caller.administrator);
}

bool Dispatcher::own(const Call& call) const {
  if (!call.object().owned()) return true;
  const auto owner = ownerOf(call);
  return owner && !owner->machine && owner->uid == call.caller.uid;
}

void Dispatcher::unknownObject(Call& call) const {
  call.fail({ErrorCode::UnknownObject, std::format("there is no object {} that you may see", call.path())});
}

void Dispatcher::route(const CallPointer& call) {
  if (auto action = actionOf(*call)) admit(call, std::move(*action));
}

std::optional<Dispatcher::Action> Dispatcher::actionOf(Call& call) const {
  const auto* interface = interfaces_.of(call.object().kind);
  if (interface == nullptr || interface->name() != call.interface()) return standardAction(call);
  const auto* method = interface->method(call.member());
  if (method == nullptr) {
    unknownMethod(call);
    return std::nullopt;
  }
  if (sd_bus_message_has_signature(call.message(), method->in.c_str()) <= 0) {
    invalidSignature(call, method->in);
    return std::nullopt;
  }
  return Action{.interface = interface->name(),
                .member = method->name,
                .concernsOthers = method->concernsOthers && method->concernsOthers(call),
                .run = method->run};
}

std::optional<Dispatcher::Action> Dispatcher::standardAction(Call& call) const {
  Action action{.interface = std::string(call.interface()), .member = std::string(call.member()), .run = {}};
  const auto takesNothing = [&](std::string_view interface, std::string_view member) {
    return call.interface() == interface && call.member() == member &&
           sd_bus_message_has_signature(call.message(), "") > 0;
  };
  if (call.interface() == names::kProperties) return propertyAction(call);
  if (takesNothing(names::kPeer, "Ping")) {
    action.run = [](const CallPointer& admitted) { admitted->answer(); };
  } else if (takesNothing(names::kPeer, "GetMachineId")) {
    action.run = [](const CallPointer& admitted) {
      sd_id128_t id{};
      if (sd_id128_get_machine(&id) < 0) return admitted->fail({ErrorCode::Internal, "this machine has no id"});
      char text[SD_ID128_STRING_MAX];
      admitted->answer(sd_id128_to_string(id, text));
    };
  } else if (takesNothing(names::kIntrospectable, "Introspect")) {
    action.run = [this](const CallPointer& admitted) { introspect(*admitted); };
  } else if (takesNothing(names::kObjectManager, "GetManagedObjects") && call.object().kind == Object::Kind::Root) {
    action.run = [this](const CallPointer& admitted) { managedObjects(*admitted); };
  } else {
    unknownMethod(call);
    return std::nullopt;
  }
  return action;
}

std::optional<Dispatcher::Action> Dispatcher::propertyAction(Call& call) const {
  const auto member = call.member();
  const bool all = member == "GetAll";
  const bool set = member == "Set";
  const auto* wanted = all ? "s" : set ? "ssv" : "ss";
  if (!bouncer_.access(Operation::Call, names::kProperties, member)) {
    unknownMethod(call);
    return std::nullopt;
  }
  const char* name = nullptr;
  const char* property = nullptr;
  if (sd_bus_message_has_signature(call.message(), wanted) <= 0 ||
      sd_bus_message_read(call.message(), "s", &name) <= 0 ||
      (!all && sd_bus_message_read(call.message(), "s", &property) <= 0)) {
    invalidSignature(call, wanted);
    return std::nullopt;
  }
  auto* interface = interfaces_.of(call.object().kind);
  const bool ours = interface != nullptr && interface->name() == name;
  // The standard interfaces have no properties; an empty name means any interface.
  if (all && !ours) {
    const std::string_view asked(name);
    const bool standard = asked.empty() || asked == names::kPeer || asked == names::kIntrospectable ||
                          asked == names::kProperties || asked == names::kObjectManager;
    if (standard && !(asked.empty() && interface != nullptr))
      return Action{.operation = Operation::Call,
                    .interface = std::string(names::kProperties),
                    .member = "GetAll",
                    .run = [](const CallPointer& admitted) { admitted->answer(Dictionary{}); }};
  }
  if (interface == nullptr || (!ours && !(all && *name == '\0'))) {
    call.failAs(SD_BUS_ERROR_UNKNOWN_INTERFACE, std::format("there is no interface {} at {}", name, call.path()));
    return std::nullopt;
  }
  Action action{.operation = set ? Operation::Set : Operation::Get,
                .interface = interface->name(),
                .member = all ? "*" : property,
                .run = {}};
  if (all) {
    action.run = [interface](const CallPointer& admitted) {
      admitted->answerWith(
          [&](Writer& writer) { return interface->writeAll(admitted->caller, admitted->object(), writer); });
    };
    return action;
  }
  const auto infos = interface->properties();
  const auto info = std::ranges::find(infos, std::string_view(property), &Interface::PropertyInfo::name);
  if (info == infos.end()) {
    call.failAs(SD_BUS_ERROR_UNKNOWN_PROPERTY, std::format("{} has no property {}", interface->name(), property));
    return std::nullopt;
  }
  if (!set) {
    action.run = [interface, asked = action.member](const CallPointer& admitted) {
      admitted->answerWith(
          [&](Writer& writer) { return interface->writeOne(admitted->caller, admitted->object(), asked, writer); });
    };
    return action;
  }
  const char* value = nullptr;
  if (!info->writable) {
    call.failAs(SD_BUS_ERROR_PROPERTY_READ_ONLY, std::format("{} cannot be set", property));
    return std::nullopt;
  }
  if (sd_bus_message_read(call.message(), "v", "s", &value) <= 0) {
    invalidSignature(call, "ssv with a text");
    return std::nullopt;
  }
  action.run = [interface, asked = action.member, text = std::string(value)](const CallPointer& admitted) {
    if (const auto done = interface->set(asked, text); !done) return admitted->fail(done.error());
    admitted->answer();
  };
  return action;
}

void Dispatcher::admit(const CallPointer& call, Action action) {
  const auto access = bouncer_.access(action.operation, action.interface, action.member);
  if (!access)
    return call->fail({ErrorCode::AccessDenied, std::format("nobody may use {}.{}", action.interface, action.member)});
  const bool others = action.concernsOthers || !own(*call);
  const auto needed = others ? access->other : access->own;
  const bool seen = needed == names::kActionSeeOther && call->caller.administrator;
  if (needed.empty() || seen) return action.run(call);
  authorise(
      call, needed, call->interactive(),
      [this, others, run = std::move(action.run), needed](const CallPointer& admitted) {
        // Objects come and go while a person types a password.
        if (!visible(*admitted)) return unknownObject(*admitted);
        if (others && needed == names::kActionSeeOther) {
          connections_.makeAdministrator(admitted->sender());
          admitted->caller.administrator = true;
        }
        run(admitted);
      },
      [this, needed](const CallPointer& denied, Authority::Verdict verdict) {
        if (worthALine(denied->caller.uid))
          log::write(log::Level::Notice,
                     std::format("uid {} was refused {}: {}", denied->caller.uid, denied->member(), needed),
                     {{names::kFieldCaller, std::to_string(denied->caller.uid)},
                      {names::kFieldMember, std::format("{}.{}", denied->interface(), denied->member())},
                      {names::kFieldAction, std::string(needed)}},
                     names::kMessageDenied);
        if (verdict == Authority::Verdict::Unavailable)
          return denied->fail({ErrorCode::AccessDenied, std::format("{}. To mend it: {}", kPolkitAway, kPolkitRemedy)});
        denied->fail({ErrorCode::AccessDenied,
                      std::format("polkit does not allow you {} (as needed for {}); work in an active session, "
                                  "become a member of the group {}, or authenticate",
                                  needed, denied->member(), names::kGroup)});
      });
}

bool Dispatcher::worthALine(uid_t uid) {
  std::uint64_t now = 0;
  sd_event_now(sd_bus_get_event(bus_), CLOCK_MONOTONIC, &now);
  auto& told = denied_[uid];
  if (told.count == 0 || now - told.since > limits::kDenialTime) told = {.since = now, .count = 0};
  return ++told.count <= limits::kDenialLines;
}

void Dispatcher::authorise(const CallPointer& call, std::string_view action, bool interactive, Next allowed,
                           Denied denied) {
  // Who has everything is not asked for more; with polkit gone, root still gets in.
  if (call->caller.uid == 0) return allowed(call);
  if (asking_[call->caller.uid] >= limits::kAuthorisationsPerUser)
    return call->fail({ErrorCode::Limit, "as many of your calls wait for authorisation as may; try again later"});
  ++asking_[call->caller.uid];
  const Authority::Question question{.sender = std::string(call->sender()),
                                     .action = std::string(action),
                                     .object = std::string(call->path()),
                                     .interactive = interactive};
  authority_.check(question, [this, call, allowed = std::move(allowed), denied = std::move(denied)](auto verdict) {
    if (--asking_[call->caller.uid] == 0) asking_.erase(call->caller.uid);
    if (verdict == Authority::Verdict::Yes)
      allowed(call);
    else
      denied(call, verdict);
  });
}

std::optional<uid_t> Dispatcher::scope(const Caller& caller) const {
  if (caller.administrator) return std::nullopt;
  return caller.uid;
}

std::vector<std::string> Dispatcher::children(const Call& call) const {
  const std::string path(call.path());
  const auto ids = [&](ObjectKind kind) {
    std::vector<std::string> found;
    for (const auto id : backend_.objects(kind, scope(call.caller)))
      found.push_back(std::to_string(id));
    return found;
  };
  if (path == "/") return {"org"};
  if (path == "/org") return {"cofferdam", "freedesktop"};
  if (path == "/org/cofferdam") return {"Cofferdam1"};
  if (path == "/org/freedesktop") return {"LogControl1"};
  if (path == names::kRootPath) return {"agent", "project", "provider", "task"};
  if (path == names::kTaskPath) return ids(ObjectKind::Task);
  if (path == names::kProjectPath) return ids(ObjectKind::Project);
  if (path == names::kProviderPath) return ids(ObjectKind::Provider);
  std::vector<std::string> found;
  if (path == names::kAgentPath)
    for (const auto& agent : backend_.agents(call.caller))
      found.push_back(pathOfAgent(agent.name).text.substr(names::kAgentPath.size() + 1));
  return found;
}

void Dispatcher::introspect(Call& call) const {
  const auto* interface = interfaces_.of(call.object().kind);
  call.answer(describeNode(interface == nullptr ? std::string_view() : std::string_view(interface->name()),
                           call.object().kind == Object::Kind::Root, children(call)));
}

void Dispatcher::managedObjects(Call& call) const {
  std::vector<ObjectPath> paths;
  for (const auto kind : {ObjectKind::Project, ObjectKind::Provider, ObjectKind::Task})
    for (const auto id : backend_.objects(kind, scope(call.caller)))
      paths.push_back(pathOf(kind, id));
  for (const auto& agent : backend_.agents(call.caller))
    paths.push_back(pathOfAgent(agent.name));
  call.answerWith([&](Writer& writer) {
    writer.inside('a', "{oa{sa{sv}}}", [&] {
      for (const auto& path : paths) {
        const auto object = objectAt(path.text);
        const auto* interface = object ? interfaces_.of(object->kind) : nullptr;
        if (interface == nullptr) continue;
        writer.inside('e', "oa{sa{sv}}", [&] {
          writer.append(path);
          writer.inside('a', "{sa{sv}}", [&] {
            writer.inside('e', "sa{sv}", [&] {
              writer.append(interface->name());
              if (!interface->writeAll(call.caller, *object, writer)) writer.append(Dictionary{});
            });
          });
        });
      }
    });
  });
}

}  // namespace coffer::api
