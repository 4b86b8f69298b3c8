#include "engine/image_mounts.hpp"

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dbus/names.hpp"
#include "engine/task_images.hpp"
#include "engine/unit_input.hpp"
#include "model/limits.hpp"
#include "os/beneath.hpp"
#include "os/event.hpp"
#include "os/log.hpp"
#include "workers/record.hpp"

namespace coffer::engine {
namespace {

// Beside the images, on disk before one of them is mounted and gone after both were unmounted.
constexpr const char* kMountedMark = "mounted";
// There from before an image is made anew until its writer's workspace has been brought to the last import.
constexpr const char* kLostMark = "lost";
// What happened to the images, until everybody knows.
constexpr const char* kNotice = "notice";

// Between two looks whether a loop device lets go of an image, which nobody is told of.
constexpr std::chrono::microseconds kAttachedPause{500'000};

struct Image {
  std::string name;  ///< what coffer-walls calls it
  const char* file;
  const char* what;  ///< in names of units
  bool noExec;
};

std::array<Image, 2> imagesOf(std::uint64_t task) {
  return {Image{taskImage(task), "image", "image", false}, Image{outputImage(task), "output.image", "output", true}};
}

std::unexpected<Error> failed(const std::string& what) {
  const int number = errno;
  return std::unexpected(Error{number == ENOSPC ? ErrorCode::NoSpace : ErrorCode::Internal,
                               "cannot " + what + ": " + std::strerror(number)});
}

bool isThere(const std::string& path) {
  struct stat status{};
  return ::lstat(path.c_str(), &status) == 0;
}

// Whether a loop device still has the file: what was written in the image may still be on its way to the disk then.
bool isAttached(const std::string& file) {
  std::error_code error;
  for (const auto& device : std::filesystem::directory_iterator("/sys/block", error)) {
    if (!device.path().filename().string().starts_with("loop")) continue;
    std::string line;
    std::ifstream backing(device.path() / "loop/backing_file");
    if (std::getline(backing, line) && line == file) return true;
  }
  return false;
}

bool isMounted(const std::string& path) {
  struct statx status{};
  return ::statx(AT_FDCWD, path.c_str(), AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, STATX_TYPE, &status) == 0 &&
         (status.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
}

std::expected<void, Error> setMark(const std::string& directory, const char* mark) {
  if (isThere(directory + "/" + mark)) return {};
  auto opened = os::openDirectory(directory);
  if (!opened) return std::unexpected(opened.error());
  return os::writeFile(opened->get(), mark, {}, 0600, true);
}

std::expected<void, Error> takeMark(const std::string& directory, const char* mark) {
  if (::unlink((directory + "/" + mark).c_str()) < 0 && errno != ENOENT) return failed("forget a mark of ours");
  return {};
}

// What is to be told: what no agent has read yet, and what the agent of a turn was told whose fact may not be stored.
struct Notice {
  std::string fresh;
  std::string step;
  std::string told;
};

Notice readNotice(const std::string& directory) {
  Notice notice;
  auto opened = os::openDirectory(directory);
  if (!opened) return notice;
  const auto bytes = os::readBeneath(opened->get(), kNotice, limits::kTextBytes);
  const auto records = bytes ? Records::parse(*bytes) : std::unexpected(std::string());
  if (!records) return notice;
  notice.fresh = records->get("fresh");
  notice.step = records->get("step");
  notice.told = records->get("told");
  return notice;
}

std::expected<void, Error> writeNotice(const std::string& directory, const Notice& notice) {
  if (notice.fresh.empty() && notice.told.empty()) return takeMark(directory, kNotice);
  auto opened = os::openDirectory(directory);
  if (!opened) return std::unexpected(opened.error());
  Records records;
  records.add("fresh", notice.fresh);
  records.add("step", notice.step);
  records.add("told", notice.told);
  return os::writeFile(opened->get(), kNotice, records.serialize(), 0600, true);
}

std::string joined(const std::string& first, const std::string& second) {
  return first + (first.empty() || second.empty() ? "" : " ") + second;
}

// A turn whose fact was stored with its end known has told the person as well.
bool isTold(Context& context, const std::string& step) {
  const auto run = context.store->runs().byUnit(step);
  if (!run || !*run) return false;
  const auto& end = (*run)->end;
  return end.ended != 0 && end.result != "interrupted" && end.result != "not-started";
}

enum class Checked { Good, Mended, Broken };

// e2fsck(8): 0 nothing to do, 1 and 2 mended; anything else, a crash of it too, leaves an image that is not mounted.
Checked verdict(const std::optional<sandbox::UnitEnd>& end) {
  if (end && end->success()) return Checked::Good;
  if (end && end->result == "exit-code" && (end->status == 1 || end->status == 2)) return Checked::Mended;
  return Checked::Broken;
}

Async<std::expected<std::optional<sandbox::UnitEnd>, Error>> runCheck(Context& context, sandbox::SealedSpec spec) {
  auto unit = std::make_shared<sandbox::Unit>(sandbox::workerUnit(spec));
  auto started = co_await context.systemd->startUnit(unit);
  std::expected<std::optional<sandbox::UnitEnd>, Error> end = std::nullopt;
  if (started)
    end = co_await context.systemd->waitForEnd(unit->name);
  else
    end = std::unexpected(started.error());
  // What may still write to the image has it: it is not given back then.
  if (auto gone = co_await context.systemd->remove(unit->name); !gone) co_return std::unexpected(gone.error());
  co_return end;
}

// The image belongs to the worker's uid while it is checked, so that it cannot be mounted meanwhile: coffer-walls takes
// root's only.
Async<std::expected<Checked, Error>> check(Context& context, std::uint64_t task, std::uint32_t owner, Image image) {
  const auto path = context.places.task(task) + "/" + image.file;
  const auto unit = "coffer-" + std::to_string(task) + "-0-fsck-" + image.what + "-1";
  auto uid = context.uid(model::UidPart::Worker, task, unit);
  if (!uid) co_return std::unexpected(uid.error());
  auto identity = context.identities.announce(*uid);
  if (!identity) co_return std::unexpected(identity.error());
  if (auto gone = co_await context.systemd->remove(unit + ".service"); !gone) co_return std::unexpected(gone.error());
  const std::vector<std::string> points = {"image"};
  auto in = writeInput(context.places, unit, *identity, {}, points);
  if (!in) co_return std::unexpected(in.error());
  const Fd file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!file || ::fchown(file.get(), *uid, *uid) < 0)
    co_return failed("hand the disk image of task " + std::to_string(task) + " to its check");
  sandbox::SealedSpec spec;
  spec.name = unit;
  spec.slice = taskSlice(owner, task);
  spec.identity = *identity;
  spec.in = *in;
  spec.command = {{"/usr/sbin/e2fsck", "-f", "-y", "/in/image"}};
  spec.limits.runtimeUs = static_cast<std::uint64_t>(limits::kImageCheckTime.count());
  spec.limits.memoryBytes = limits::kImageCheckMemory;
  spec.writable = {{path, "/in/image"}};
  auto end = co_await runCheck(context, std::move(spec));
  if (!end) co_return std::unexpected(end.error());
  if (::fchown(file.get(), 0, 0) < 0)
    co_return failed("take the disk image of task " + std::to_string(task) + " back from its check");
  static_cast<void>(removeInput(context.places, unit));
  context.releaseUid(task, unit);
  co_return verdict(*end);
}

std::expected<std::uint64_t, Error> sizeOf(const std::string& path) {
  struct stat status{};
  if (::lstat(path.c_str(), &status) < 0) return failed("look at " + path);
  return static_cast<std::uint64_t>(status.st_size);
}

// An image with a mark and without a mount was cut off, or is only being unmounted still, for somebody who does not
// know of it any more: nothing but the kernel touches its file then.
Async<std::expected<void, Error>> untilFree(Context& context, std::uint64_t task, std::string file) {
  bool told = false;
  for (std::chrono::microseconds waited{}; isAttached(file); waited += kAttachedPause) {
    if (waited >= limits::kWriteBackTime)
      co_return std::unexpected(Error{ErrorCode::Busy, "a loop device of this machine still has the disk image " +
                                                           file + " (losetup -j " + file +
                                                           "); it is not touched before"});
    if (!std::exchange(told, true))
      log::info("task " + std::to_string(task) + ": its disk image is not touched while a loop device has it: " + file,
                {{names::kFieldTask, std::to_string(task)}});
    co_await os::pause(context.event, static_cast<std::uint64_t>(kAttachedPause.count()));
  }
  co_return {};
}

// Checks one image that was cut off; the value is what became of it, as a sentence.
Async<std::expected<std::string, Error>> recover(Context& context, std::uint64_t task, std::uint32_t owner,
                                                 Image image) {
  const std::string which = image.noExec ? "The disk with what the runs printed" : "The task's disk";
  const auto cut = which + " was not unmounted cleanly (a crash or a power cut). ";
  auto checked = co_await check(context, task, owner, image);
  if (!checked) co_return std::unexpected(checked.error());
  if (*checked == Checked::Good) co_return cut + "It was checked, and nothing was wrong with it. ";
  if (*checked == Checked::Mended) co_return cut + "It was checked and mended; what was written last may be missing. ";
  const auto directory = context.places.task(task);
  const auto path = directory + "/" + image.file;
  auto bytes = sizeOf(path);
  if (!bytes) co_return std::unexpected(bytes.error());
  if (!image.noExec)
    if (auto marked = setMark(directory, kLostMark); !marked) co_return std::unexpected(marked.error());
  if (auto made = co_await makeImage(context, task, owner, image.file, *bytes); !made)
    co_return std::unexpected(made.error());
  co_return cut + (image.noExec ? "It could not be mended and was made anew, empty. "
                                : "It could not be mended and was made anew: the work is as it was last taken in, the "
                                  "agents' memories are gone. ");
}

}  // namespace

Async<std::expected<void, Error>> mountImages(Context& context, std::uint64_t task, std::uint32_t owner) {
  const auto directory = context.places.task(task);
  std::string told;
  const auto images = imagesOf(task);
  const bool marked = isThere(directory + "/" + kMountedMark);
  for (const auto& image : images) {
    if (!marked || isMounted(context.places.image(image.name))) continue;
    if (auto let = co_await untilFree(context, task, directory + "/" + image.file); !let) co_return let;
    auto words = co_await recover(context, task, owner, image);
    if (!words) co_return std::unexpected(words.error());
    told += *words;
  }
  if (!told.empty()) {
    told.pop_back();
    log::warning("task " + std::to_string(task) + ": " + told, {{names::kFieldTask, std::to_string(task)}});
    auto notice = readNotice(directory);
    notice.fresh = joined(notice.fresh, told);
    if (auto kept = writeNotice(directory, notice); !kept) co_return kept;
  }
  if (auto set = setMark(directory, kMountedMark); !set) co_return std::unexpected(set.error());
  for (const auto& image : images) {
    const Fd file(::open((directory + "/" + image.file).c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC));
    if (!file) co_return failed("open the disk image of task " + std::to_string(task));
    if (auto mounted = context.walls->mountImage(image.name, file.get(), image.noExec); !mounted)
      co_return std::unexpected(mounted.error());
  }
  co_return {};
}

std::expected<std::string, Error> tellTurn(Context& context, std::uint64_t task, const std::string& step) {
  const auto directory = context.places.task(task);
  auto notice = readNotice(directory);
  if (notice.step != step && isTold(context, notice.step)) notice.told.clear();
  notice = {{}, step, joined(notice.told, notice.fresh)};
  if (auto kept = writeNotice(directory, notice); !kept) return std::unexpected(kept.error());
  return notice.told;
}

std::string toldInTurn(const Context& context, std::uint64_t task, const std::string& step) {
  auto notice = readNotice(context.places.task(task));
  return notice.step == step ? std::move(notice.told) : std::string{};
}

std::expected<void, Error> unmountImages(Context& context, std::uint64_t task) {
  std::expected<void, Error> result;
  for (const auto& image : imagesOf(task))
    if (auto gone = context.walls->unmountImage(image.name); !gone && result) result = gone;
  if (!result) return result;
  return takeMark(context.places.task(task), kMountedMark);
}

bool imageLost(const Context& context, std::uint64_t task) {
  return isThere(context.places.task(task) + "/" + kLostMark);
}

std::expected<void, Error> forgetLost(const Context& context, std::uint64_t task) {
  return takeMark(context.places.task(task), kLostMark);
}

}  // namespace coffer::engine
