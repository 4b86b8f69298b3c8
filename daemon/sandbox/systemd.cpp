#include "sandbox/systemd.hpp"

#include <chrono>
#include <cstring>
#include <utility>

#include "os/event.hpp"

namespace coffer::sandbox {
namespace {

constexpr const char* kBus = "org.freedesktop.DBus";
constexpr const char* kService = "org.freedesktop.systemd1";
constexpr const char* kPath = "/org/freedesktop/systemd1";
constexpr const char* kManager = "org.freedesktop.systemd1.Manager";

// PID 1 answers in milliseconds; a start job of ours is over when the program runs. A minute means that PID 1 is in
// trouble.
constexpr std::uint64_t kCallTimeoutUs = 60'000'000;

// A PID 1 that executes itself again (systemctl daemon-reexec, each upgrade of systemd or the C library) is away from
// the bus for a moment, in which the bus answers in its place. What was asked then is asked again, for so long.
constexpr std::chrono::seconds kPatience{120};
constexpr std::uint64_t kAgainUs = 200'000;

// In the place of a job's result: whoever waits has to look.
constexpr const char* kLook = "";

bool unanswered(std::string_view error) {
  for (const std::string_view each :
       {"NoReply", "Disconnected", "NameHasNoOwner", "ServiceUnknown", "Timeout", "TimedOut"})
    if (error == "org.freedesktop.DBus.Error." + std::string(each)) return true;
  return false;
}

std::unexpected<Error> failed(const std::string& what, int number) {
  return std::unexpected(Error{ErrorCode::Internal, what + ": " + std::strerror(-number)});
}

int append(sd_bus_message* m, const std::vector<std::string>& list) {
  int r = sd_bus_message_open_container(m, 'a', "s");
  for (const auto& entry : list)
    if (r >= 0) r = sd_bus_message_append(m, "s", entry.c_str());
  return r < 0 ? r : sd_bus_message_close_container(m);
}

int appendValue(sd_bus_message* m, const Property& property) {
  const auto variant = [m](const char* type, auto&& body) {
    int r = sd_bus_message_open_container(m, 'v', type);
    if (r >= 0) r = body();
    return r < 0 ? r : sd_bus_message_close_container(m);
  };
  struct Visitor {
    sd_bus_message* m;
    decltype(variant)& in;
    int operator()(bool value) const { return sd_bus_message_append(m, "v", "b", value ? 1 : 0); }
    int operator()(const std::string& value) const { return sd_bus_message_append(m, "v", "s", value.c_str()); }
    int operator()(std::uint64_t value) const { return sd_bus_message_append(m, "v", "t", value); }
    int operator()(std::uint32_t value) const { return sd_bus_message_append(m, "v", "u", value); }
    int operator()(std::int32_t value) const { return sd_bus_message_append(m, "v", "i", value); }
    int operator()(const std::vector<std::string>& value) const {
      return in("as", [&] { return append(m, value); });
    }
    int operator()(const std::vector<Bind>& value) const {
      return in("a(ssbt)", [&] {
        // 16384 is MS_REC, as PID 1 takes it.
        int r = sd_bus_message_open_container(m, 'a', "(ssbt)");
        for (const auto& bind : value)
          if (r >= 0)
            r = sd_bus_message_append(m, "(ssbt)", bind.source.c_str(), bind.destination.c_str(), bind.optional ? 1 : 0,
                                      bind.recursive ? std::uint64_t{16384} : std::uint64_t{0});
        return r < 0 ? r : sd_bus_message_close_container(m);
      });
    }
    int operator()(const Filter& value) const {
      return in("(bas)", [&] {
        int r = sd_bus_message_open_container(m, 'r', "bas");
        if (r >= 0) r = sd_bus_message_append(m, "b", value.allow ? 1 : 0);
        if (r >= 0) r = append(m, value.entries);
        return r < 0 ? r : sd_bus_message_close_container(m);
      });
    }
    int operator()(const Command& value) const {
      return in("a(sasas)", [&] {
        int r = sd_bus_message_open_container(m, 'a', "(sasas)");
        if (r >= 0) r = sd_bus_message_open_container(m, 'r', "sasas");
        if (r >= 0) r = sd_bus_message_append(m, "s", value.arguments.front().c_str());
        if (r >= 0) r = append(m, value.arguments);
        if (r >= 0) r = append(m, {"no-env-expand"});
        if (r >= 0) r = sd_bus_message_close_container(m);
        return r < 0 ? r : sd_bus_message_close_container(m);
      });
    }
    int operator()(const LogFields& value) const {
      return in("aay", [&] {
        int r = sd_bus_message_open_container(m, 'a', "ay");
        for (const auto& field : value.fields)
          if (r >= 0) r = sd_bus_message_append_array(m, 'y', field.data(), field.size());
        return r < 0 ? r : sd_bus_message_close_container(m);
      });
    }
    int operator()(const Pairs& value) const {
      return in("a(ss)", [&] {
        int r = sd_bus_message_open_container(m, 'a', "(ss)");
        for (const auto& [first, second] : value)
          if (r >= 0) r = sd_bus_message_append(m, "(ss)", first.c_str(), second.c_str());
        return r < 0 ? r : sd_bus_message_close_container(m);
      });
    }
  };
  int r = sd_bus_message_open_container(m, 'r', "sv");
  if (r >= 0) r = sd_bus_message_append(m, "s", property.name.c_str());
  if (r >= 0) r = std::visit(Visitor{m, variant}, property.value);
  return r < 0 ? r : sd_bus_message_close_container(m);
}

int appendFds(sd_bus_message* m, const std::vector<PassedFd>& fds) {
  int r = sd_bus_message_open_container(m, 'r', "sv");
  if (r >= 0) r = sd_bus_message_append(m, "s", "ExtraFileDescriptors");
  if (r >= 0) r = sd_bus_message_open_container(m, 'v', "a(hs)");
  if (r >= 0) r = sd_bus_message_open_container(m, 'a', "(hs)");
  for (const auto& passed : fds)
    if (r >= 0) r = sd_bus_message_append(m, "(hs)", passed.fd->get(), passed.name.c_str());
  if (r >= 0) r = sd_bus_message_close_container(m);
  if (r >= 0) r = sd_bus_message_close_container(m);
  return r < 0 ? r : sd_bus_message_close_container(m);
}

std::expected<std::string, Error> unitPath(const std::string& name) {
  char* path = nullptr;
  const int r = sd_bus_path_encode("/org/freedesktop/systemd1/unit", name.c_str(), &path);
  if (r < 0) return failed("cannot name the unit " + name, r);
  std::string result(path);
  std::free(path);
  return result;
}

// Reads the properties of one GetAll answer that we know; the others are skipped.
int readState(sd_bus_message* m, UnitState& state) {
  int r = sd_bus_message_enter_container(m, 'a', "{sv}");
  while (r >= 0 && (r = sd_bus_message_enter_container(m, 'e', "sv")) > 0) {
    const char* name = nullptr;
    r = sd_bus_message_read(m, "s", &name);
    if (r < 0) break;
    const std::string_view key = name;
    const char* text = nullptr;
    if (key == "LoadState" || key == "ActiveState" || key == "SubState" || key == "Result") {
      r = sd_bus_message_read(m, "v", "s", &text);
      if (r < 0) break;
      if (key == "LoadState") state.loaded = std::string_view(text) == "loaded";
      if (key == "ActiveState") state.active = text;
      if (key == "SubState") state.sub = text;
      if (key == "Result") state.end.result = text;
    } else if (key == "Job") {
      std::uint32_t job = 0;
      const char* path = nullptr;
      r = sd_bus_message_read(m, "v", "(uo)", &job, &path);
      state.job = job != 0;
    } else if (key == "ExecMainCode") {
      r = sd_bus_message_read(m, "v", "i", &state.end.code);
    } else if (key == "ExecMainStatus") {
      r = sd_bus_message_read(m, "v", "i", &state.end.status);
    } else if (key == "ExecMainStartTimestamp") {
      r = sd_bus_message_read(m, "v", "t", &state.end.startedUs);
    } else if (key == "ExecMainExitTimestamp") {
      r = sd_bus_message_read(m, "v", "t", &state.end.endedUs);
    } else if (key == "InvocationID") {
      const void* bytes = nullptr;
      std::size_t size = 0;
      r = sd_bus_message_enter_container(m, 'v', "ay");
      if (r >= 0) r = sd_bus_message_read_array(m, 'y', &bytes, &size);
      if (r >= 0) r = sd_bus_message_exit_container(m);
      static constexpr char digits[] = "0123456789abcdef";
      state.end.invocation.clear();
      for (std::size_t i = 0; r >= 0 && i < size; ++i) {
        const auto byte = static_cast<const unsigned char*>(bytes)[i];
        state.end.invocation += digits[byte >> 4U];
        state.end.invocation += digits[byte & 15U];
      }
    } else {
      r = sd_bus_message_skip(m, "v");
    }
    if (r < 0) break;
    r = sd_bus_message_exit_container(m);
  }
  return r < 0 ? r : sd_bus_message_exit_container(m);
}

}  // namespace

struct Systemd::Reply {
  Systemd* self = nullptr;
  Completion<Answer> completion;
  sd_bus_slot* slot = nullptr;
};

Systemd::Systemd(sd_bus* bus) : bus_(bus) {}

Systemd::~Systemd() {
  for (auto* slot : slots_)
    sd_bus_slot_unref(slot);
}

std::expected<void, Error> Systemd::start() {
  sd_bus_slot* slot = nullptr;
  // A reexecuted manager has another unique name, which the bus tells before anything that comes from there.
  int r = sd_bus_add_match(bus_, &slot,
                           "type='signal',sender='org.freedesktop.DBus',path='/org/freedesktop/DBus',"
                           "interface='org.freedesktop.DBus',member='NameOwnerChanged',arg0='org.freedesktop.systemd1'",
                           onManagerChanged, this);
  if (r < 0) return failed("cannot listen to the bus", r);
  slots_.push_back(slot);
  r = sd_bus_match_signal(bus_, &slot, kService, kPath, kManager, "JobRemoved", onJobRemoved, this);
  if (r < 0) return failed("cannot listen to the service manager", r);
  slots_.push_back(slot);
  r = sd_bus_add_match(
      bus_, &slot,
      "type='signal',sender='org.freedesktop.systemd1',path_namespace='/org/freedesktop/systemd1/unit',"
      "interface='org.freedesktop.DBus.Properties',member='PropertiesChanged'",
      onUnitChanged, this);
  if (r < 0) return failed("cannot listen to the service manager", r);
  slots_.push_back(slot);
  // A reexecuted manager keeps its units but may have changed some of them while it told nobody: everybody looks again.
  r = sd_bus_match_signal(bus_, &slot, kService, kPath, kManager, "Reloading", onReloading, this);
  if (r < 0) return failed("cannot listen to the service manager", r);
  slots_.push_back(slot);
  sd_bus_error error = SD_BUS_ERROR_NULL;
  r = sd_bus_call_method(bus_, kService, kPath, kManager, "Subscribe", &error, nullptr, nullptr);
  const bool already = r < 0 && sd_bus_error_has_name(&error, "org.freedesktop.systemd1.AlreadySubscribed");
  sd_bus_error_free(&error);
  if (r < 0 && !already) return failed("cannot subscribe to the service manager", r);
  sd_bus_message* reply = nullptr;
  r = sd_bus_call_method(bus_, kBus, "/org/freedesktop/DBus", kBus, "GetNameOwner", nullptr, &reply, "s", kService);
  const MessagePtr owned(reply, sd_bus_message_unref);
  const char* manager = nullptr;
  if (r >= 0) r = sd_bus_message_read(reply, "s", &manager);
  if (r < 0) return failed("cannot learn who the service manager is", r);
  manager_ = manager;
  return {};
}

int Systemd::onReply(sd_bus_message* message, void* data, sd_bus_error*) {
  const std::unique_ptr<Reply> reply(static_cast<Reply*>(data));
  Answer answer;
  if (const auto* error = sd_bus_message_get_error(message)) {
    answer.errorName = error->name ? error->name : "";
    answer.errorText = error->message ? error->message : answer.errorName;
  } else {
    answer.message = MessagePtr(sd_bus_message_ref(message), sd_bus_message_unref);
  }
  sd_bus_slot_unref(reply->slot);
  reply->completion.set(std::move(answer));
  return 0;
}

std::expected<Systemd::MessagePtr, Error> Systemd::methodCall(const char* path, const char* interface,
                                                              const char* member) const {
  sd_bus_message* message = nullptr;
  const int r = sd_bus_message_new_method_call(bus_, &message, kService, path, interface, member);
  if (r < 0) return failed("cannot ask the service manager", r);
  return MessagePtr(message, sd_bus_message_unref);
}

Async<std::expected<Systemd::MessagePtr, Error>> Systemd::call(MessagePtr message, bool* repeated) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (true) {
    auto reply = std::make_unique<Reply>();
    reply->self = this;
    auto completion = reply->completion;
    const int r = sd_bus_call_async(bus_, &reply->slot, message.get(), onReply, reply.get(), kCallTimeoutUs);
    if (r < 0) co_return failed("cannot ask the service manager", r);
    static_cast<void>(reply.release());  // onReply owns it
    auto answer = co_await completion;
    if (answer.message) co_return std::move(answer.message);
    const auto& name = answer.errorName;
    if (unanswered(name) && std::chrono::steady_clock::now() < end) {
      if (repeated) *repeated = true;
      co_await os::pause(sd_bus_get_event(bus_), kAgainUs);
      continue;
    }
    const auto code = name == "org.freedesktop.systemd1.NoSuchUnit"        ? ErrorCode::NotFound
                      : name == "org.freedesktop.DBus.Error.UnknownObject" ? ErrorCode::NotFound
                      : name == "org.freedesktop.systemd1.UnitExists"      ? ErrorCode::Busy
                      : name == "org.freedesktop.DBus.Error.AccessDenied"  ? ErrorCode::AccessDenied
                                                                           : ErrorCode::Sandbox;
    co_return std::unexpected(Error{code, "the service manager refused: " + answer.errorText});
  }
}

void Systemd::jobEnded(const std::string& path, const std::string& result) {
  std::vector<Completion<std::string>> woken;
  const auto [first, last] = jobs_.equal_range(path);
  for (auto it = first; it != last; ++it)
    woken.push_back(it->second);
  jobs_.erase(first, last);
  for (const auto& completion : woken)
    completion.set(result);
}

bool Systemd::fromManager(sd_bus_message* message) const {
  const char* sender = sd_bus_message_get_sender(message);
  return sender != nullptr && manager_ == sender;
}

int Systemd::onManagerChanged(sd_bus_message* message, void* data, sd_bus_error*) {
  auto* self = static_cast<Systemd*>(data);
  const char* sender = sd_bus_message_get_sender(message);
  if (sender == nullptr || std::strcmp(sender, kBus) != 0) return 0;
  const char* name = nullptr;
  const char* before = nullptr;
  const char* now = nullptr;
  if (sd_bus_message_read(message, "sss", &name, &before, &now) < 0 || std::strcmp(name, kService) != 0) return 0;
  self->manager_ = now;
  if (self->manager_.empty()) return 0;
  // It keeps who listens to it, but what it told while it was away from the bus was told to nobody.
  sd_bus_call_method_async(self->bus_, nullptr, kService, kPath, kManager, "Subscribe", nullptr, nullptr, nullptr);
  self->everybodyLooks();
  return 0;
}

void Systemd::everybodyLooks() {
  const auto units = std::exchange(changed_, {});
  const auto jobs = std::exchange(jobs_, {});
  for (const auto& [path, completion] : units)
    completion.set({});
  for (const auto& [path, completion] : jobs)
    completion.set(kLook);
}

int Systemd::onJobRemoved(sd_bus_message* message, void* data, sd_bus_error*) {
  auto* self = static_cast<Systemd*>(data);
  std::uint32_t id = 0;
  const char* path = nullptr;
  const char* unit = nullptr;
  const char* result = nullptr;
  if (self->fromManager(message) && sd_bus_message_read(message, "uoss", &id, &path, &unit, &result) >= 0)
    self->jobEnded(path, result);
  return 0;
}

int Systemd::onUnitChanged(sd_bus_message* message, void* data, sd_bus_error*) {
  auto* self = static_cast<Systemd*>(data);
  if (!self->fromManager(message)) return 0;
  const char* path = sd_bus_message_get_path(message);
  std::vector<Completion<Done>> woken;
  const auto [first, last] = self->changed_.equal_range(path ? path : "");
  for (auto it = first; it != last; ++it)
    woken.push_back(it->second);
  self->changed_.erase(first, last);
  for (auto& completion : woken)
    completion.set({});
  return 0;
}

int Systemd::onReloading(sd_bus_message* message, void* data, sd_bus_error*) {
  auto* self = static_cast<Systemd*>(data);
  if (self->fromManager(message)) self->everybodyLooks();
  return 0;
}

Async<std::expected<std::string, Error>> Systemd::job(MessagePtr message, bool* repeated) {
  auto answer = co_await call(std::move(message), repeated);
  if (!answer) co_return std::unexpected(answer.error());
  const char* path = nullptr;
  if (const int r = sd_bus_message_read(answer->get(), "o", &path); r < 0)
    co_return failed("cannot read the service manager's answer", r);
  const std::string name(path);
  Completion<std::string> ended;
  jobs_.emplace(name, ended);
  while (true) {
    auto result = co_await ended;
    if (result != kLook) co_return result;
    // Listening starts before looking here, too.
    ended = Completion<std::string>();
    const auto entry = jobs_.emplace(name, ended);
    auto look = methodCall(name.c_str(), "org.freedesktop.DBus.Properties", "GetAll");
    if (!look) co_return std::unexpected(look.error());
    if (const int r = sd_bus_message_append(look->get(), "s", "org.freedesktop.systemd1.Job"); r < 0)
      co_return failed("cannot ask the service manager", r);
    const auto there = co_await call(*look);
    if (there || ended.ready()) continue;
    jobs_.erase(entry);
    if (there.error().code != ErrorCode::NotFound) co_return std::unexpected(there.error());
    co_return kLook;
  }
}

Async<std::expected<std::string, Error>> Systemd::settled(std::string name) {
  const auto path = unitPath(name);
  if (!path) co_return std::unexpected(path.error());
  while (true) {
    Completion<Done> changed;
    const auto entry = changed_.emplace(*path, changed);
    auto now = co_await state(name);
    if (now && now->loaded && (now->job || now->active == "activating")) {
      co_await changed;
      continue;
    }
    if (!changed.ready()) changed_.erase(entry);
    if (!now) co_return std::unexpected(now.error());
    co_return now->running() || now->ended() ? "done" : "failed";
  }
}

Async<std::expected<void, Error>> Systemd::startUnit(std::shared_ptr<const Unit> unit) {
  auto message = methodCall(kPath, kManager, "StartTransientUnit");
  if (!message) co_return std::unexpected(message.error());
  auto* m = message->get();
  int r = sd_bus_message_append(m, "ss", unit->name.c_str(), "fail");
  if (r >= 0) r = sd_bus_message_open_container(m, 'a', "(sv)");
  for (const auto& property : unit->properties)
    if (r >= 0) r = appendValue(m, property);
  if (r >= 0 && !unit->fds.empty()) r = appendFds(m, unit->fds);
  if (r >= 0) r = sd_bus_message_close_container(m);
  if (r >= 0) r = sd_bus_message_append(m, "a(sa(sv))", 0);
  if (r < 0) co_return failed("cannot describe the unit " + unit->name, r);
  bool repeated = false;
  auto result = co_await job(*message, &repeated);
  // Asked twice, it is there from the first time.
  const bool taken = !result && repeated && result.error().code == ErrorCode::Busy;
  if (taken || (result && *result == kLook)) result = co_await settled(unit->name);
  if (!result) co_return std::unexpected(result.error());
  if (*result != "done")
    co_return std::unexpected(Error{ErrorCode::Sandbox, "the unit " + unit->name + " could not be started (" + *result +
                                                            "); journalctl -u " + unit->name + " says why"});
  co_return {};
}

Async<std::expected<void, Error>> Systemd::setProperties(std::string name, std::vector<Property> properties) {
  auto message = methodCall(kPath, kManager, "SetUnitProperties");
  if (!message) co_return std::unexpected(message.error());
  auto* m = message->get();
  int r = sd_bus_message_append(m, "sb", name.c_str(), 1);
  if (r >= 0) r = sd_bus_message_open_container(m, 'a', "(sv)");
  for (const auto& property : properties)
    if (r >= 0) r = appendValue(m, property);
  if (r >= 0) r = sd_bus_message_close_container(m);
  if (r < 0) co_return failed("cannot describe the limits of " + name, r);
  auto answer = co_await call(*message);
  if (!answer) co_return std::unexpected(answer.error());
  co_return {};
}

Async<std::expected<UnitState, Error>> Systemd::state(std::string name) {
  const auto path = unitPath(name);
  if (!path) co_return std::unexpected(path.error());
  UnitState state;
  for (const char* interface : {"org.freedesktop.systemd1.Unit", "org.freedesktop.systemd1.Service"}) {
    if (std::strcmp(interface, "org.freedesktop.systemd1.Service") == 0 &&
        (!state.loaded || !name.ends_with(".service")))
      break;
    auto message = methodCall(path->c_str(), "org.freedesktop.DBus.Properties", "GetAll");
    if (!message) co_return std::unexpected(message.error());
    if (const int r = sd_bus_message_append(message->get(), "s", interface); r < 0)
      co_return failed("cannot ask the service manager", r);
    auto answer = co_await call(*message);
    if (!answer) {
      if (answer.error().code == ErrorCode::NotFound) co_return UnitState{};
      co_return std::unexpected(answer.error());
    }
    if (const int r = readState(answer->get(), state); r < 0) co_return failed("cannot read the state of " + name, r);
  }
  co_return state;
}

Async<std::expected<std::optional<UnitEnd>, Error>> Systemd::waitForEnd(std::string name) {
  const auto path = unitPath(name);
  if (!path) co_return std::unexpected(path.error());
  while (true) {
    // Listening starts before looking: an end between the two would otherwise be waited for in vain.
    Completion<Done> changed;
    const auto entry = changed_.emplace(*path, changed);
    auto now = co_await state(name);
    const bool over = !now || !now->loaded || now->ended();
    if (!over) {
      co_await changed;
      continue;
    }
    if (!changed.ready()) changed_.erase(entry);
    if (!now) co_return std::unexpected(now.error());
    if (!now->loaded || now->end.lost()) co_return std::nullopt;
    co_return now->end;
  }
}

Async<std::expected<void, Error>> Systemd::remove(std::string name) {
  auto stop = methodCall(kPath, kManager, "StopUnit");
  if (!stop) co_return std::unexpected(stop.error());
  if (const int r = sd_bus_message_append(stop->get(), "ss", name.c_str(), "replace"); r < 0)
    co_return failed("cannot stop " + name, r);
  auto stopped = co_await job(*stop);
  if (!stopped && stopped.error().code != ErrorCode::NotFound) co_return std::unexpected(stopped.error());
  auto reset = methodCall(kPath, kManager, "ResetFailedUnit");
  if (!reset) co_return std::unexpected(reset.error());
  if (const int r = sd_bus_message_append(reset->get(), "s", name.c_str()); r < 0)
    co_return failed("cannot reset " + name, r);
  auto answer = co_await call(*reset);
  if (!answer && answer.error().code != ErrorCode::NotFound) co_return std::unexpected(answer.error());
  co_return {};
}

Async<std::expected<std::vector<std::string>, Error>> Systemd::list(std::string pattern) {
  auto message = methodCall(kPath, kManager, "ListUnitsByPatterns");
  if (!message) co_return std::unexpected(message.error());
  if (const int r = sd_bus_message_append(message->get(), "asas", 0, 1, pattern.c_str()); r < 0)
    co_return failed("cannot list units", r);
  auto answer = co_await call(*message);
  if (!answer) co_return std::unexpected(answer.error());
  auto* m = answer->get();
  std::vector<std::string> names;
  int r = sd_bus_message_enter_container(m, 'a', "(ssssssouso)");
  while (r >= 0 && (r = sd_bus_message_enter_container(m, 'r', "ssssssouso")) > 0) {
    const char* name = nullptr;
    r = sd_bus_message_read(m, "s", &name);
    if (r >= 0) names.emplace_back(name);
    if (r >= 0) r = sd_bus_message_skip(m, "sssssouso");
    if (r >= 0) r = sd_bus_message_exit_container(m);
  }
  if (r < 0) co_return failed("cannot read the list of units", r);
  co_return names;
}

}  // namespace coffer::sandbox
