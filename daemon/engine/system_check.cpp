#include "engine/system_check.hpp"

#include <ctime>
#include <utility>

#include "engine/bus_property.hpp"
#include "engine/check_limits.hpp"
#include "engine/machine_checks.hpp"
#include "engine/sandbox_needs.hpp"
#include "os/clock.hpp"
#include "os/event.hpp"

namespace coffer::engine {
namespace {

std::uint64_t monotonic() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000 + static_cast<std::uint64_t>(time.tv_nsec) / 1'000;
}

const BusProperty kPolkitVersion{"org.freedesktop.PolicyKit1", "/org/freedesktop/PolicyKit1/Authority",
                                 "org.freedesktop.PolicyKit1.Authority", "BackendVersion"};
const BusProperty kSynchronised{"org.freedesktop.timedate1", "/org/freedesktop/timedate1", "org.freedesktop.timedate1",
                                "NTPSynchronized"};

}  // namespace

Async<std::expected<std::vector<Check>, Error>> SystemCheck::look(std::uint32_t user) {
  if (ofUser_[user] >= limits::kSystemChecksPerUser)
    co_return std::unexpected(Error{ErrorCode::Limit,
                                    "as many of your checks of the system wait for their answer as "
                                    "may; wait for one of them"});
  ++ofUser_[user];
  Completion<Checks> checks;
  waiting_.push_back(checks);
  if (!looking_) answer();
  auto told = co_await checks;
  if (--ofUser_[user] == 0) ofUser_.erase(user);
  co_return told;
}

Detached SystemCheck::answer() {
  looking_ = true;
  while (!waiting_.empty()) {
    const auto pause = static_cast<std::uint64_t>(limits::kSystemCheckPause.count());
    if (const auto since = monotonic() - lastEnded_; lastEnded_ != 0 && since < pause)
      co_await os::pause(sources_.context.event, pause - since);
    // Who asks from here on has done something that this look may not see.
    const auto askers = std::exchange(waiting_, {});
    const auto checks = co_await machine();
    lastEnded_ = monotonic();
    for (const auto& asker : askers)
      asker.set(checks);
  }
  looking_ = false;
}

Check SystemCheck::uids() const {
  const auto& obstacle = sources_.context.obstacle;
  return obstacle ? *obstacle : good("uids", "nobody else has uids of Cofferdam's range");
}

std::uint64_t SystemCheck::newestEvent() const {
  auto& tasks = sources_.context.store->tasks();
  const auto last = tasks.lastSequence();
  if (!last || *last == 0) return 0;
  const auto events = tasks.events(*last - 1, 1, std::nullopt, std::nullopt);
  return events && !events->empty() ? events->front().event.at : 0;
}

Async<std::vector<Check>> SystemCheck::machine() {
  auto& context = sources_.context;
  const auto& configuration = sources_.configuration.current();
  // Whoever does not answer is waited for beside the others.
  auto systemd = begin(readProperty(context.bus, kSystemdVersion, limits::kSystemCheckTime));
  auto polkit = begin(readProperty(context.bus, kPolkitVersion, limits::kSystemCheckTime));
  auto synchronised = begin(readProperty(context.bus, kSynchronised, limits::kSystemCheckTime));
  auto tproxy = begin(tryWalls(context, walls::Flag::TryTproxy));
  auto checks = co_await sandboxNeeds(context, configuration.acceptMissing);
  const auto version = co_await systemd;
  checks.insert(checks.begin() + 1, systemdCheck(version));
  if (const auto tried = co_await tproxy) checks.push_back(tproxyCheck(*tried));
  checks.push_back(uids());
  checks.push_back(sources_.canary.check());
  checks.push_back(polkitCheck(co_await polkit));
  checks.push_back(timeCheck(co_await synchronised, os::now(), newestEvent()));
  const auto problems = sources_.problems();
  std::size_t number = 0;
  for (const auto& problem : problems)
    checks.push_back(configurationCheck(++number, problem));
  if (problems.empty()) checks.push_back(configurationCheck(0, {}));
  co_return checks;
}

}  // namespace coffer::engine
