#include "walls/loop_device.hpp"

#include <charconv>
#include <chrono>
#include <memory>
#include <string_view>
#include <thread>

#include <dirent.h>
#include <fcntl.h>
#include <linux/loop.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include "model/limits.hpp"

namespace coffer::walls {

namespace {

/// Asks every loop device that exists which file it has.
Result<bool> isAttached(const struct stat& file) {
  const std::unique_ptr<DIR, int (*)(DIR*)> devices(::opendir("/dev"), ::closedir);
  if (!devices) return failed("listing /dev");
  while (const dirent* entry = ::readdir(devices.get())) {
    const std::string_view name(entry->d_name);
    if (!name.starts_with("loop") || name == "loop-control") continue;
    const Fd device(::openat(::dirfd(devices.get()), entry->d_name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (!device) continue;
    loop_info64 info{};
    if (::ioctl(device.get(), LOOP_GET_STATUS64, &info) != 0) continue;  // free, or no loop device
    if (info.lo_inode == file.st_ino && info.lo_device == file.st_dev) return true;
  }
  return false;
}

Result<void> waitUntilFree(int file) {
  using Clock = std::chrono::steady_clock;
  struct stat status{};
  if (::fstat(file, &status) != 0) return failed("looking at an image");
  const auto until = Clock::now() + limits::kUnmountWait;
  for (;;) {
    auto attached = isAttached(status);
    if (!attached) return std::unexpected(attached.error());
    if (!*attached) return {};
    if (Clock::now() >= until) return failed(EBUSY, "the image is still attached to a loop device");
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

}  // namespace

Result<LoopDevice> freeLoop() {
  const Fd control(::open("/dev/loop-control", O_RDWR | O_CLOEXEC));
  if (!control) return failed("opening /dev/loop-control");
  for (int attempt = 0; attempt < limits::kLoopAttempts; ++attempt) {
    const int number = ::ioctl(control.get(), LOOP_CTL_GET_FREE);
    if (number < 0) return failed("asking for a free loop device");
    LoopDevice device{.fd = {}, .path = "/dev/loop" + std::to_string(number)};
    device.fd = Fd(::open(device.path.c_str(), O_RDWR | O_CLOEXEC));
    if (device.fd) return device;
    // The kernel makes the node a moment later where devtmpfs is; elsewhere it is missing for good.
    if (errno != ENOENT) return failed("opening " + device.path);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return refuse(ErrorCode::Environment, "there is no free loop device, or no node for it in /dev");
}

Result<LoopDevice> attachLoop(int file) {
  if (auto isFree = waitUntilFree(file); !isFree) return std::unexpected(isFree.error());
  loop_config config{};
  config.fd = static_cast<std::uint32_t>(file);
  config.info.lo_flags = LO_FLAGS_AUTOCLEAR;
  for (int attempt = 0; attempt < limits::kLoopAttempts; ++attempt) {
    auto device = freeLoop();
    if (!device) return device;
    if (::ioctl(device->fd.get(), LOOP_CONFIGURE, &config) == 0) return device;
    if (errno != EBUSY) return failed("attaching an image to " + device->path);
  }
  return refuse(ErrorCode::Environment,
                "no free loop device: load the module `loop`, or give this machine more (max_loop), or wait for other "
                "tasks to end");
}

}  // namespace coffer::walls
