#include "engine/task_images.hpp"

#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/keep.hpp"
#include "engine/unit_input.hpp"
#include "os/beneath.hpp"
#include "sandbox/sealed.hpp"

namespace coffer::engine {
namespace {

std::unexpected<Error> failed(const std::string& what) {
  const int number = errno;
  return std::unexpected(Error{number == ENOSPC || number == EDQUOT ? ErrorCode::NoSpace : ErrorCode::Internal,
                               "cannot " + what + ": " + std::strerror(number)});
}

bool exists(const std::string& path) {
  struct stat status{};
  return ::lstat(path.c_str(), &status) == 0;
}

// Formats a plain file of that size as a file system with a journal, as nobody, and keeps it for all tasks.
Async<std::expected<void, Error>> format(Context& context, std::uint64_t task, std::uint32_t owner, std::string name,
                                         std::uint64_t bytes) {
  const auto unit = "coffer-" + std::to_string(task) + "-0-format-1";
  auto uid = context.uid(model::UidPart::Worker, task, unit);
  if (!uid) co_return std::unexpected(uid.error());
  auto identity = context.identities.announce(*uid);
  if (!identity) co_return std::unexpected(identity.error());
  co_await context.systemd->remove(unit + ".service");
  auto in = writeInput(context.places, unit, *identity, {});
  if (!in) co_return std::unexpected(in.error());
  auto out = makeOutput(context.places, unit, *uid);
  if (!out) co_return std::unexpected(out.error());

  sandbox::SealedSpec spec;
  spec.name = unit;
  spec.slice = taskSlice(owner, task);
  spec.identity = *identity;
  // No reserve for root, no room to grow: the size is the task's quota. Inode tables are made as they are used.
  spec.command = {{"/usr/sbin/mke2fs", "-q", "-F", "-t", "ext4", "-m", "0", "-O", "^resize_inode", "-E",
                   "lazy_itable_init=1,lazy_journal_init=1,nodiscard,root_owner=0:0", "/out/image",
                   std::to_string(bytes / 1024) + "k"}};
  spec.limits.runtimeUs = 60'000'000;
  spec.in = *in;
  spec.out = *out;
  auto description = std::make_shared<sandbox::Unit>(sandbox::workerUnit(spec));
  std::expected<void, Error> result;
  if (auto started = co_await context.systemd->startUnit(description); !started) {
    result = std::unexpected(started.error());
  } else if (auto end = co_await context.systemd->waitForEnd(description->name); !end) {
    result = std::unexpected(end.error());
  } else if (!*end || !(*end)->success()) {
    result = std::unexpected(
        Error{ErrorCode::Environment, "cannot make a disk image of " + std::to_string(bytes >> 20U) + " MiB for task " +
                                          std::to_string(task) + "; journalctl -u " + unit + " says why"});
  } else {
    result = keepFile(*out, "image", context.places.templates(), name, 0, 0600);
  }
  co_await context.systemd->remove(description->name);
  static_cast<void>(removeInput(context.places, unit));
  static_cast<void>(removeOutput(context.places, unit));
  context.releaseUid(task, unit);
  co_return result;
}

// The parts of a file that were written, to a new one of the same length.
std::expected<void, Error> copyWritten(int from, int to) {
  struct stat status{};
  if (::fstat(from, &status) < 0 || ::ftruncate(to, status.st_size) < 0) return failed("make a disk image");
  for (off_t at = 0; (at = ::lseek(from, at, SEEK_DATA)) >= 0;) {
    const off_t end = ::lseek(from, at, SEEK_HOLE);
    if (end < 0) return failed("read a formatted disk image");
    for (off_t target = at; at < end;) {
      const auto copied = ::copy_file_range(from, &at, to, &target, static_cast<std::size_t>(end - at), 0);
      if (copied < 0 && errno == EINTR) continue;
      if (copied <= 0) return failed("copy a formatted disk image");
    }
  }
  if (errno != ENXIO) return failed("read a formatted disk image");  // ENXIO: nothing more was written
  if (::fsync(to) < 0) return failed("write a disk image");
  return {};
}

}  // namespace

Async<std::expected<void, Error>> makeImage(Context& context, std::uint64_t task, std::uint32_t owner, std::string file,
                                            std::uint64_t bytes) {
  const auto destination = context.places.task(task);
  const auto name = "ext4-" + std::to_string(bytes / 1024) + "k";
  const auto formatted = context.places.templates() + "/" + name;
  if (!exists(formatted))
    if (auto made = co_await format(context, task, owner, name, bytes); !made) co_return made;

  auto directory = os::openDirectory(destination);
  if (!directory) co_return std::unexpected(directory.error());
  const Fd from(::open(formatted.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!from) co_return failed("open a formatted disk image");
  // Whole before it has its name.
  const auto unfinished = file + ".new";
  const Fd to(
      ::openat(directory->get(), unfinished.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!to) co_return failed("make a disk image of task " + std::to_string(task));
  if (auto copied = copyWritten(from.get(), to.get()); !copied) co_return copied;
  if (::renameat(directory->get(), unfinished.c_str(), directory->get(), file.c_str()) < 0)
    co_return failed("make a disk image of task " + std::to_string(task));
  co_return {};
}

Async<std::expected<void, Error>> makeImages(Context& context, std::uint64_t task, std::uint32_t owner,
                                             std::uint64_t taskBytes, std::uint64_t outputBytes) {
  if (auto made = makePath(context.places.task(task)); !made) co_return made;
  for (const auto& [file, bytes] : {std::pair{"image", taskBytes}, std::pair{"output.image", outputBytes}}) {
    if (exists(context.places.task(task) + "/" + file)) continue;
    const std::string name = file;
    if (auto made = co_await makeImage(context, task, owner, name, bytes); !made) co_return made;
  }
  co_return {};
}

}  // namespace coffer::engine
