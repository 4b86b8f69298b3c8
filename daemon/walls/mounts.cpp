#include "walls/mounts.hpp"

#include <string>

#include <fcntl.h>
#include <sys/mount.h>
#include <unistd.h>

namespace coffer::walls {

namespace {

constexpr std::uint64_t kQuiet = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;

Result<Fd> openFileSystem(const char* type) {
  Fd context(::fsopen(type, FSOPEN_CLOEXEC));
  if (!context) return failed(std::string("opening the file system type ") + type);
  return context;
}

/// The kernel's own words about what it refused ("e ext4: ..."), read from the context.
std::string wordsOf(const Fd& context) {
  char buffer[512];
  const ssize_t got = ::read(context.get(), buffer, sizeof(buffer));
  if (got <= 2) return {};
  std::string words(buffer + 2, static_cast<std::size_t>(got) - 2);
  while (!words.empty() && words.back() == '\n')
    words.pop_back();
  return " (" + words + ")";
}

Result<void> setString(const Fd& context, const char* key, const std::string& value) {
  if (::fsconfig(context.get(), FSCONFIG_SET_STRING, key, value.c_str(), 0) != 0) {
    const int error = errno;
    return failed(error, std::string("mount option ") + key + wordsOf(context));
  }
  return {};
}

Result<Fd> create(const Fd& context, const char* what, std::uint64_t attributes) {
  if (::fsconfig(context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) != 0) {
    const int error = errno;
    return failed(error, std::string("mounting ") + what + wordsOf(context));
  }
  Fd mount(::fsmount(context.get(), FSMOUNT_CLOEXEC, static_cast<unsigned>(attributes)));
  if (!mount) {
    const int error = errno;
    return failed(error, std::string("mounting ") + what + wordsOf(context));
  }
  return mount;
}

std::string procPath(int fd) { return "/proc/self/fd/" + std::to_string(fd); }

}  // namespace

Result<Fd> cloneDirectory(int directory, bool writable, const std::optional<OwnerMap>& map) {
  Fd clone(::open_tree(directory, "", AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC));
  if (!clone) return failed("cloning a mount");
  Fd owners;
  mount_attr attributes{};
  attributes.attr_set = kQuiet | (writable ? 0 : MOUNT_ATTR_RDONLY);
  attributes.propagation = MS_PRIVATE;  // what is mounted at the original later does not appear here
  if (map) {
    auto made = makeUserNamespace(*map);
    if (!made) return std::unexpected(made.error());
    owners = std::move(*made);
    attributes.attr_set |= MOUNT_ATTR_IDMAP;
    attributes.userns_fd = static_cast<unsigned>(owners.get());
  }
  if (::mount_setattr(clone.get(), "", AT_EMPTY_PATH, &attributes, sizeof(attributes)) != 0)
    return failed(map ? "mapping the owners of a mount" : "restricting a mount");
  return clone;
}

Result<Fd> cloneNamespace(int ns) {
  Fd clone(::open_tree(ns, "", AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC));
  if (!clone) return failed("pinning a namespace");
  return clone;
}

Result<Fd> mountExt4(const char* device, bool noExec) {
  auto context = openFileSystem("ext4");
  if (!context) return context;
  if (auto source = setString(*context, "source", device); !source) return std::unexpected(source.error());
  return create(*context, "an image", kQuiet | MOUNT_ATTR_NOATIME | (noExec ? MOUNT_ATTR_NOEXEC : 0));
}

Result<Fd> mountOverlay(int lower, int upper, int work, bool readOnly) {
  auto context = openFileSystem("overlay");
  if (!context) return context;
  const std::pair<const char*, std::string> options[] = {
      {"source", "cofferdam"},
      {"lowerdir", procPath(lower)},
      {"upperdir", procPath(upper)},
      {"workdir", procPath(work)},
      // Renamed directories keep their lower part: without it rename() of a directory fails with EXDEV. Only the kernel
      // writes the attributes it needs (trusted.*), no sandbox can.
      {"redirect_dir", "on"},
      {"index", "off"},
      {"metacopy", "off"},
  };
  for (const auto& [key, value] : options)
    if (auto set = setString(*context, key, value); !set) return std::unexpected(set.error());
  return create(*context, "a workspace", kQuiet | (readOnly ? MOUNT_ATTR_RDONLY : 0));
}

}  // namespace coffer::walls
