#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <systemd/sd-event.h>

#include "dbus/error.hpp"
#include "engine/places.hpp"
#include "model/actions.hpp"
#include "model/limits.hpp"
#include "os/async.hpp"

namespace coffer::engine {

/// What may run at once. Bytes are of the file system that holds the state directory.
struct AdmissionLimits {
  std::size_t places = 1;           ///< turns and gates of all tasks
  std::size_t placesOfUser = 1;     ///< of one user's tasks
  std::uint64_t floorBytes = 0;     ///< stays free when everything admitted has filled its images
  std::uint64_t userDiskBytes = 0;  ///< 0: as userTotal() says
  std::uint64_t taskBytes = 0;      ///< that a new task may take
};

/// The images of a task, as the file system has them.
struct ImageSpace {
  std::uint64_t used = 0;  ///< bytes that are allocated
  std::uint64_t rest = 0;  ///< bytes that may still be written to them
};
ImageSpace imageSpace(const Places& places, std::uint64_t task);

/// What a project's commits and checkouts take, in bytes on disk.
std::uint64_t projectBytes(const Places& places, std::uint64_t project);

/// What is one user's on the disk, in bytes: their tasks' images, and their projects' commits and checkouts.
struct UserSpace {
  std::uint64_t images = 0;
  std::uint64_t projects = 0;
};

struct DiskSpace {
  std::uint64_t free = 0;  ///< bytes for others than the file system's own reserve
  std::uint64_t total = 0;
};
DiskSpace diskSpace(const Places& places);

/// One turn or gate that asks to begin, or has begun.
struct Applicant {
  std::uint64_t task = 0;
  std::uint32_t owner = 0;
  ImageSpace space;
};

/// Bytes that the tasks and projects of one user may come to. Where no total is set it is half of the disk, and always
/// enough for one task that takes `task` bytes beside their projects.
std::uint64_t userTotal(const UserSpace& user, std::uint64_t task, const DiskSpace& disk,
                        const AdmissionLimits& limits);

/// Why it may not begin now: a code and a sentence; nothing when it may. A pure function. `user` is what the
/// applicant's owner has, this one's image among it.
std::optional<model::Waiting> refusal(const Applicant& applicant, const std::vector<Applicant>& admitted,
                                      const DiskSpace& disk, const UserSpace& user, const AdmissionLimits& limits);
/// The half of it that is about the disk.
std::optional<model::Waiting> spaceRefusal(const Applicant& applicant, const std::vector<Applicant>& admitted,
                                           const DiskSpace& disk, const UserSpace& user, const AdmissionLimits& limits);

/// The same for a call, which is refused instead of waiting: Busy or NoSpace.
Error refusedNow(const model::Waiting& why);

/// Which turns and gates may begin: within the machine's and the user's number, and only while what all that run may
/// still write fits on the disk above a floor. Who may not begin waits in order of arrival, without holding up others,
/// and is asked again whenever something ends, when the limits change, and, while somebody waits for space, every
/// limits::kSpaceCheckTime.
class Admission {
 public:
  struct Sources {
    sd_event* event = nullptr;
    Places places;
    std::function<AdmissionLimits()> limits;
    std::function<std::vector<std::uint64_t>(std::uint32_t owner)> tasksOf;  ///< that may have images
    std::function<std::vector<std::uint64_t>(std::uint32_t owner)> projectsOf;
    std::function<void(std::uint64_t task)> changed;  ///< waiting() of the task says another thing
    std::chrono::microseconds spaceCheck = limits::kSpaceCheckTime;
  };
  explicit Admission(Sources sources) : sources_(std::move(sources)) {}

  /// True once the task may begin; false when it was withdrawn while it waited. `begun`: it runs already (the daemon
  /// was away) and is only counted.
  Async<bool> enter(std::uint64_t task, std::uint32_t owner, bool begun);
  /// The same without waiting: why it may not begin now, or nothing when it has been admitted.
  std::optional<model::Waiting> enterNow(std::uint64_t task, std::uint32_t owner);
  /// Why the owner may not put more on the disk, or nothing when they may.
  std::optional<model::Waiting> full(std::uint32_t owner);
  /// What was admitted has ended.
  void leave(std::uint64_t task);
  /// Takes a task that waits out of the line; nothing when it does not wait.
  void withdraw(std::uint64_t task);
  /// Looks at everybody who waits again.
  void reconsider();
  /// Whether anybody waits.
  [[nodiscard]] bool contended() const { return !waiters_.empty(); }
  [[nodiscard]] UserSpace userSpace(std::uint32_t owner) const;
  /// What the task waits for here; nothing when it does not.
  [[nodiscard]] std::optional<model::Waiting> waiting(std::uint64_t task) const;

 private:
  struct Waiter {
    Applicant applicant;
    model::Waiting why;
    Completion<bool> admitted;
  };
  [[nodiscard]] std::optional<model::Waiting> judge(Applicant& applicant);
  Detached watchSpace();

  Sources sources_;
  std::vector<Applicant> admitted_;
  std::deque<Waiter> waiters_;
  bool watching_ = false;
};

}  // namespace coffer::engine
