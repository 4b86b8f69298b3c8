#include "engine/admission.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <utility>

#include <sys/stat.h>
#include <sys/statvfs.h>

#include "engine/machine_checks.hpp"
#include "os/event.hpp"

namespace coffer::engine {
namespace {

std::string mebibytes(std::uint64_t bytes) { return std::to_string(bytes >> 20U) + " MiB"; }

std::string turns(std::size_t count) {
  return std::to_string(count) + (count == 1 ? " turn or gate" : " turns and gates");
}

bool forSpace(const model::Waiting& why) { return why.code == "space" || why.code == "user-space"; }

}  // namespace

ImageSpace imageSpace(const Places& places, std::uint64_t task) {
  ImageSpace space;
  for (const char* name : {"/image", "/output.image"}) {
    struct stat status{};
    if (::lstat((places.task(task) + name).c_str(), &status) < 0) continue;
    const auto allocated = static_cast<std::uint64_t>(status.st_blocks) * 512;
    const auto size = static_cast<std::uint64_t>(status.st_size);
    space.used += allocated;
    if (size > allocated) space.rest += size - allocated;
  }
  return space;
}

std::uint64_t projectBytes(const Places& places, std::uint64_t project) {
  std::uint64_t bytes = 0;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(places.projectObjects(project) + "/pack", error)) {
    struct stat status{};
    if (::lstat(entry.path().c_str(), &status) == 0) bytes += static_cast<std::uint64_t>(status.st_blocks) * 512;
  }
  for (const auto& entry : std::filesystem::directory_iterator(places.checkoutSizes(project), error)) {
    std::uint64_t size = 0;
    std::ifstream(entry.path()) >> size;
    bytes += size;
  }
  return bytes;
}

DiskSpace diskSpace(const Places& places) {
  struct statvfs status{};
  // A disk that cannot be asked has no room.
  if (::statvfs(places.state.c_str(), &status) < 0) return {};
  return {static_cast<std::uint64_t>(status.f_bavail) * status.f_frsize,
          static_cast<std::uint64_t>(status.f_blocks) * status.f_frsize};
}

std::uint64_t userTotal(const UserSpace& user, std::uint64_t task, const DiskSpace& disk,
                        const AdmissionLimits& limits) {
  if (limits.userDiskBytes) return limits.userDiskBytes;
  return std::max(disk.total / 2, user.projects + task);
}

std::optional<model::Waiting> refusal(const Applicant& applicant, const std::vector<Applicant>& admitted,
                                      const DiskSpace& disk, const UserSpace& user, const AdmissionLimits& limits) {
  if (admitted.size() >= limits.places)
    return model::Waiting{"slot", "It waits for a place: this machine runs " + turns(limits.places) +
                                      " at once "
                                      "(tasks-at-once in cofferd.toml). It goes on by itself."};
  const auto places = std::ranges::count(admitted, applicant.owner, &Applicant::owner);
  if (static_cast<std::size_t>(places) >= limits.placesOfUser)
    return model::Waiting{"user-slot", "It waits for another task of its owner: one user runs " +
                                           turns(limits.placesOfUser) +
                                           " at once (user-tasks-at-once in cofferd.toml). It goes on by itself."};
  return spaceRefusal(applicant, admitted, disk, user, limits);
}

std::optional<model::Waiting> spaceRefusal(const Applicant& applicant, const std::vector<Applicant>& admitted,
                                           const DiskSpace& disk, const UserSpace& user,
                                           const AdmissionLimits& limits) {
  std::uint64_t promised = 0;
  std::uint64_t promisedToUser = 0;
  for (const auto& other : admitted) {
    promised += other.space.rest;
    if (other.owner == applicant.owner) promisedToUser += other.space.rest;
  }
  if (const auto check = diskCheck(disk, limits); check.state != CheckState::Ok)
    return model::Waiting{"space", "It waits for room on the disk: " + check.problem + ". To mend it: " + check.remedy +
                                       ". It goes on by itself."};
  const auto wanted = promised + applicant.space.rest + limits.floorBytes;
  if (disk.free < wanted)
    return model::Waiting{"space", "It waits for room on the disk: /var/lib/cofferdam has " + mebibytes(disk.free) +
                                       " free and needs " + mebibytes(wanted) + " (" + mebibytes(applicant.space.rest) +
                                       " that this task may still write, " + mebibytes(promised) + " for what runs, " +
                                       mebibytes(limits.floorBytes) +
                                       " that stay free). Make room or delete tasks; it goes on by itself."};
  const auto most = userTotal(user, applicant.space.used + applicant.space.rest, disk, limits);
  const auto userWants = user.images + user.projects + promisedToUser + applicant.space.rest;
  if (userWants > most)
    return model::Waiting{"user-space",
                          "It waits for room among its owner's tasks: these and their projects may come to " +
                              mebibytes(most) + " (user-disk-mib in cofferd.toml), with this one they could come to " +
                              mebibytes(userWants) +
                              ". Accept, cancel or delete tasks, or remove projects; it goes on by itself."};
  return std::nullopt;
}

Error refusedNow(const model::Waiting& why) {
  if (why.code == "slot")
    return {
        ErrorCode::Busy,
        "this machine runs as many turns and gates as it may at once (tasks-at-once in cofferd.toml): try again when "
        "one has ended"};
  if (why.code == "user-slot")
    return {ErrorCode::Busy,
            "you run as many turns and gates as one user may at once (user-tasks-at-once in cofferd.toml): try again "
            "when one has ended"};
  if (why.code == "space")
    return {ErrorCode::NoSpace,
            "the disk of /var/lib/cofferdam has no room above what runs may still write and what stays free "
            "(free-space-mib in cofferd.toml): make room or delete tasks, then try again"};
  return {
      ErrorCode::NoSpace,
      "your tasks and projects take as much of the disk as they may (user-disk-mib in cofferd.toml): accept, cancel "
      "or delete tasks, or remove projects, then try again"};
}

UserSpace Admission::userSpace(std::uint32_t owner) const {
  UserSpace space;
  for (const auto task : sources_.tasksOf(owner))
    space.images += imageSpace(sources_.places, task).used;
  for (const auto project : sources_.projectsOf(owner))
    space.projects += projectBytes(sources_.places, project);
  return space;
}

std::optional<model::Waiting> Admission::judge(Applicant& applicant) {
  applicant.space = imageSpace(sources_.places, applicant.task);
  for (auto& other : admitted_)
    other.space = imageSpace(sources_.places, other.task);
  return refusal(applicant, admitted_, diskSpace(sources_.places), userSpace(applicant.owner), sources_.limits());
}

std::optional<model::Waiting> Admission::enterNow(std::uint64_t task, std::uint32_t owner) {
  Applicant applicant{task, owner, {}};
  auto why = judge(applicant);
  if (!why) admitted_.push_back(applicant);
  return why;
}

std::optional<model::Waiting> Admission::full(std::uint32_t owner) {
  for (auto& other : admitted_)
    other.space = imageSpace(sources_.places, other.task);
  return spaceRefusal({0, owner, {}}, admitted_, diskSpace(sources_.places), userSpace(owner), sources_.limits());
}

Async<bool> Admission::enter(std::uint64_t task, std::uint32_t owner, bool begun) {
  Waiter waiter;
  waiter.applicant = {task, owner, {}};
  std::optional<model::Waiting> why;
  if (!begun) why = judge(waiter.applicant);
  if (!why) {
    admitted_.push_back(waiter.applicant);
    co_return true;
  }
  waiter.why = std::move(*why);
  const auto admitted = waiter.admitted;
  const bool space = forSpace(waiter.why);
  waiters_.push_back(std::move(waiter));
  sources_.changed(task);
  if (space) watchSpace();
  co_return co_await admitted;
}

void Admission::leave(std::uint64_t task) {
  const auto found = std::ranges::find(admitted_, task, &Applicant::task);
  if (found != admitted_.end()) admitted_.erase(found);
  reconsider();
}

void Admission::withdraw(std::uint64_t task) {
  const auto found =
      std::ranges::find_if(waiters_, [task](const Waiter& waiter) { return waiter.applicant.task == task; });
  if (found == waiters_.end()) return;
  const auto admitted = found->admitted;
  waiters_.erase(found);
  admitted.set(false);
}

void Admission::reconsider() {
  // Whoever is admitted runs on at once and may come back here, so the list is searched again from its start.
  for (std::size_t at = 0; at < waiters_.size();) {
    auto why = judge(waiters_[at].applicant);
    const auto task = waiters_[at].applicant.task;
    if (!why) {
      const auto waiter = std::move(waiters_[at]);
      waiters_.erase(waiters_.begin() + static_cast<std::ptrdiff_t>(at));
      admitted_.push_back(waiter.applicant);
      sources_.changed(task);
      waiter.admitted.set(true);
      at = 0;
      continue;
    }
    const bool other = why->words != waiters_[at].why.words;
    const bool space = forSpace(*why);
    waiters_[at].why = std::move(*why);
    if (other) sources_.changed(task);
    if (space) watchSpace();
    ++at;
  }
}

std::optional<model::Waiting> Admission::waiting(std::uint64_t task) const {
  for (const auto& waiter : waiters_)
    if (waiter.applicant.task == task) return waiter.why;
  return std::nullopt;
}

Detached Admission::watchSpace() {
  if (watching_) co_return;
  watching_ = true;
  while (std::ranges::any_of(waiters_, [](const Waiter& waiter) { return forSpace(waiter.why); })) {
    co_await os::pause(sources_.event, static_cast<std::uint64_t>(sources_.spaceCheck.count()));
    reconsider();
  }
  watching_ = false;
}

}  // namespace coffer::engine
