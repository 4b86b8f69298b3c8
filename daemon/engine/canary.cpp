#include "engine/canary.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <memory>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/bus_property.hpp"
#include "engine/check_limits.hpp"
#include "engine/machine_checks.hpp"
#include "engine/sandbox_needs.hpp"
#include "engine/unit_input.hpp"
#include "model/limits.hpp"
#include "os/beneath.hpp"
#include "os/log.hpp"
#include "sandbox/promises.hpp"
#include "workers/record.hpp"

namespace coffer::engine {
namespace {

constexpr const char* kUnit = "coffer-canary";
constexpr const char* kSlice = "coffer-canary.slice";
constexpr sandbox::SliceLimits kLimits{std::uint64_t{64} << 20U, 64};
constexpr std::uint64_t kRuntimeUs = 30'000'000;

std::string readSmall(const std::string& path) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text(4096, '\0');
  const auto got = file ? ::read(file.get(), text.data(), text.size()) : -1;
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return text;
}

std::string linkOf(const std::string& path) {
  char target[256] = {};
  return ::readlink(path.c_str(), target, sizeof target - 1) > 0 ? target : "";
}

// A limit as the kernel has it.
bool limited(const char* file, std::uint64_t most) {
  const auto text = readSmall(std::string("/sys/fs/cgroup/coffer.slice/") + kSlice + "/" + file);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && value <= most;
}

constexpr auto kCheck = "sandbox";

Check broken(std::string problem, std::string remedy) {
  return fails(kCheck, "does not hold", std::move(problem), std::move(remedy));
}

Check doesNotHold(std::string_view property, std::string_view why) {
  return broken("on this machine " + std::string(property) + " does not hold (" + std::string(why) + ")",
                std::string("look for drop-ins of coffer-.service.d and service.d that set it, and at journalctl -u ") +
                    kUnit + "; then coffer retry the tasks that wait");
}

// What was in the way of the try itself.
Check notTried(const Error& why) {
  return broken("it could not be tried whether sandboxes hold (" + why.message + ")",
                std::string("journalctl -u ") + kUnit + " -u cofferd says more; then coffer retry the tasks that wait");
}

std::expected<void, Check> judge(const Records& report) {
  for (const auto& promise : sandbox::kPromises) {
    bool held = false;
    std::string why = "it was not reported";
    const auto& records = report.list();
    for (std::size_t at = 0; at < records.size(); ++at) {
      if (records[at].value != promise.name) continue;
      if (records[at].key == "held") held = true;
      if (records[at].key == "broken") {
        held = false;
        if (at + 1 < records.size() && records[at + 1].key == "why") why = records[at + 1].value;
        break;
      }
    }
    if (!held) return std::unexpected(doesNotHold(promise.property, why));
  }
  return {};
}

}  // namespace

std::string Canary::record() const { return context_.places.runtime + "/canary"; }

bool Canary::proven() const {
  struct stat status{};
  return ::lstat(record().c_str(), &status) == 0;
}

Check Canary::check() const {
  if (proven()) return good(kCheck, "what sandboxes rest on was tried since the boot and holds");
  if (broken_) return *broken_;
  return good(kCheck, "what sandboxes rest on will be tried before the first run since the boot");
}

Async<std::expected<void, Error>> Canary::prove(std::vector<std::string> accepted) {
  if (auto met = co_await needsMet(context_, std::move(accepted)); !met) co_return met;
  if (flying_) {
    Completion<Result> over;
    waiting_.push_back(over);
    co_return co_await over;
  }
  if (proven()) co_return {};
  flying_ = true;
  const auto missing = missingControllers();
  const auto has = [&](const char* controller) { return std::ranges::find(missing, controller) == missing.end(); };
  auto held = co_await fly(has("memory"), has("pids"));
  Result result;
  if (held) {
    broken_.reset();
    if (auto runtime = os::openDirectory(context_.places.runtime))
      static_cast<void>(os::writeFile(runtime->get(), "canary", {}, 0600));
    log::info("what sandboxes rest on holds on this machine");
  } else {
    broken_ = held.error();
    result = std::unexpected(refusalOf(*broken_));
    log::error(result.error().message);
  }
  flying_ = false;
  for (auto& over : std::exchange(waiting_, {}))
    over.set(result);
  co_return result;
}

Async<Canary::Held> Canary::fly(bool memory, bool pids) {
  if (auto systemd = systemdCheck(co_await readProperty(context_.bus, kSystemdVersion, limits::kSystemCheckTime));
      systemd.state == CheckState::Failed)
    co_return std::unexpected(std::move(systemd));
  auto uid = context_.uid(model::UidPart::Sandbox, 0, kUnit);
  if (!uid) co_return std::unexpected(notTried(uid.error()));
  // What an earlier one left is in the way of this one, and what this one leaves would be in the next one's.
  co_await context_.systemd->remove(std::string(kUnit) + ".service");
  auto result = co_await tryOut(*uid, memory, pids);
  co_await context_.systemd->remove(std::string(kUnit) + ".service");
  co_await context_.systemd->remove(kSlice);
  static_cast<void>(context_.walls->removeNetns(kUnit));
  static_cast<void>(removeInput(context_.places, kUnit));
  static_cast<void>(removeOutput(context_.places, kUnit));
  context_.releaseUid(0, kUnit);
  co_return result;
}

Async<Canary::Held> Canary::tryOut(std::uint32_t uid, bool memory, bool pids) {
  const std::string service = std::string(kUnit) + ".service";
  auto identity = context_.identities.announce(uid);
  if (!identity) co_return std::unexpected(notTried(identity.error()));
  auto listeners = context_.walls->createNetns(kUnit);
  if (!listeners) co_return std::unexpected(notTried(listeners.error()));
  struct stat network{};
  if (::stat(context_.places.netns(kUnit).c_str(), &network) < 0)
    co_return std::unexpected(notTried({ErrorCode::Sandbox, "the network namespace of coffer-canary is not there"}));
  Records request;
  request.add("network", static_cast<std::uint64_t>(network.st_ino));
  for (const char* kind : {"ipc", "user"})
    request.add(std::string("host.") + kind, linkOf(std::string("/proc/self/ns/") + kind));
  std::vector<InputFile> files = {{"request", request.serialize()}, {"src/", {}}};
  auto in = writeInput(context_.places, kUnit, *identity, files);
  if (!in) co_return std::unexpected(notTried(in.error()));
  std::vector<std::string> points = {"home", "out"};
  auto out = makeOutput(context_.places, kUnit, uid, points);
  if (!out) co_return std::unexpected(notTried(out.error()));

  sandbox::AgentSpec spec;
  spec.sealed.name = kUnit;
  spec.sealed.slice = kSlice;
  spec.sealed.identity = *identity;
  spec.sealed.command = {{"/usr/libexec/cofferdam/coffer-canary.static"}};
  spec.sealed.limits.runtimeUs = kRuntimeUs;
  spec.sealed.in = *in;
  spec.sealed.out = *out + "/out";
  spec.namespacePath = context_.places.netns(kUnit);
  spec.workspace = *in + "/src";
  spec.workspaceReadOnly = true;
  spec.home = *out + "/home";
  auto slice = std::make_shared<sandbox::Unit>();
  slice->name = kSlice;
  slice->properties = sandbox::sliceProperties(kLimits);
  slice->set("Description", "Cofferdam looks whether its sandboxes hold");
  auto unit = std::make_shared<sandbox::Unit>(sandbox::agentUnit(spec));

  Held result;
  auto sliced = co_await context_.systemd->startUnit(slice);
  if (!sliced && sliced.error().code != ErrorCode::Busy) {
    result = std::unexpected(notTried(sliced.error()));
  } else if (auto started = co_await context_.systemd->startUnit(unit); !started) {
    result = std::unexpected(notTried(started.error()));
  } else if (auto end = co_await context_.systemd->waitForEnd(service); !end) {
    result = std::unexpected(notTried(end.error()));
  } else if (!*end || !(*end)->success()) {
    result = std::unexpected(notTried({ErrorCode::Sandbox, "coffer-canary did not end as it should"}));
  } else if (memory && !limited("memory.max", kLimits.memoryBytes)) {
    result = std::unexpected(doesNotHold("MemoryMax=", "the kernel has no such limit"));
  } else if (pids && !limited("pids.max", kLimits.tasks)) {
    result = std::unexpected(doesNotHold("TasksMax=", "the kernel has no such limit"));
  } else {
    auto directory = os::openDirectory(*out + "/out");
    auto bytes = directory ? os::readBeneath(directory->get(), "report", limits::kReportBytes)
                           : std::expected<std::string, Error>(std::unexpected(directory.error()));
    auto report = bytes ? Records::parse(*bytes) : std::unexpected(bytes.error().message);
    result = report ? judge(*report) : std::unexpected(notTried({ErrorCode::Sandbox, report.error()}));
  }
  co_return result;
}

}  // namespace coffer::engine
