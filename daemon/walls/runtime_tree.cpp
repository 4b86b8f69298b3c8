#include "walls/runtime_tree.hpp"

#include <chrono>
#include <memory>
#include <thread>

#include <dirent.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "model/limits.hpp"

namespace coffer::walls {

namespace {

/// 1 mounted, 0 not, -1 no such name.
int isMountPoint(int folder, const std::string& name) {
  struct statx status{};
  if (::statx(folder, name.c_str(), AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, STATX_TYPE, &status) != 0) return -1;
  return (status.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0 ? 1 : 0;
}

Result<Fd> makeFolder(int parent, const char* name) {
  if (::mkdirat(parent, name, 0700) != 0 && errno != EEXIST) return failed(std::string("making ") + name);
  Fd folder(::openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder) return failed(std::string("opening ") + name);
  return folder;
}

std::string procPath(int fd) { return "/proc/self/fd/" + std::to_string(fd); }

}  // namespace

Result<RuntimeTree> RuntimeTree::open(const std::string& base) {
  const Fd top(::open(base.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!top) return failed("opening " + base);
  RuntimeTree tree;
  const std::pair<const char*, Fd*> folders[] = {{"netns", &tree.netns_},
                                                 {"img", &tree.images_},
                                                 {"ws", &tree.workspaces_},
                                                 {"src", &tree.sources_},
                                                 {"passing", &tree.passing_}};
  for (const auto& [name, fd] : folders) {
    auto folder = makeFolder(top.get(), name);
    if (!folder) return std::unexpected(folder.error());
    *fd = std::move(*folder);
  }
  return tree;
}

const Fd& RuntimeTree::folder(Kind kind) const {
  switch (kind) {
    case Kind::Netns:
      return netns_;
    case Kind::Image:
      return images_;
    case Kind::Workspace:
      return workspaces_;
    case Kind::Source:
      break;
  }
  return sources_;
}

bool RuntimeTree::mounted(Kind kind, std::string_view name) const {
  return isMountPoint(folder(kind).get(), std::string(name)) == 1;
}

Result<Fd> RuntimeTree::openMounted(Kind kind, std::string_view name) const {
  const std::string path(name);
  if (isMountPoint(folder(kind).get(), path) != 1)
    return refuse(ErrorCode::NotFound, "nothing is mounted as `" + path + "`");
  Fd root(::openat(folder(kind).get(), path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!root) return failed("opening the mount `" + path + "`");
  return root;
}

Result<void> RuntimeTree::attach(Kind kind, std::string_view name, int mount) const {
  return attachIn(folder(kind), name, mount);
}

Result<void> RuntimeTree::detach(Kind kind, std::string_view name, bool lazily) const {
  return detachIn(folder(kind), name, lazily);
}

Result<void> RuntimeTree::attachIn(const Fd& folder, std::string_view name, int mount) {
  const std::string path(name);
  // A file is mounted on a file, a directory on a directory. What an earlier crash left here is empty and goes first.
  struct stat status{};
  if (::fstat(mount, &status) != 0) return failed("looking at a mount");
  if (auto cleared = detachIn(folder, name, true); !cleared) return cleared;
  if (S_ISDIR(status.st_mode)) {
    if (::mkdirat(folder.get(), path.c_str(), 0700) != 0) return failed("making a mount point");
  } else {
    const Fd file(::openat(folder.get(), path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!file) return failed("making a mount point");
  }
  if (::move_mount(mount, "", folder.get(), path.c_str(), MOVE_MOUNT_F_EMPTY_PATH) != 0) {
    const int error = errno;
    ::unlinkat(folder.get(), path.c_str(), S_ISDIR(status.st_mode) ? AT_REMOVEDIR : 0);
    return failed(error, "attaching a mount");
  }
  return {};
}

Result<void> RuntimeTree::detachIn(const Fd& folder, std::string_view name, bool lazily) {
  using Clock = std::chrono::steady_clock;
  const std::string entry(name);
  const std::string path = procPath(folder.get()) + "/" + entry;
  const auto until = Clock::now() + limits::kUnmountWait;
  for (;;) {
    const int state = isMountPoint(folder.get(), entry);
    if (state < 0) return {};
    if (state == 0) break;
    if (::umount2(path.c_str(), UMOUNT_NOFOLLOW | (lazily ? MNT_DETACH : 0)) == 0) continue;
    if (errno != EBUSY) return failed("unmounting `" + entry + "`");
    // A unit being started holds a copy of every mount for a moment.
    if (Clock::now() >= until) return failed(EBUSY, "unmounting `" + entry + "`, which something still uses");
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  if (::unlinkat(folder.get(), entry.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT) return {};
  if (errno == ENOTDIR && (::unlinkat(folder.get(), entry.c_str(), 0) == 0 || errno == ENOENT)) return {};
  return failed("removing the mount point `" + entry + "`");
}

Result<std::vector<std::string>> RuntimeTree::list(Kind kind) const {
  Fd copy(::openat(folder(kind).get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!copy) return failed("listing mounts");
  std::unique_ptr<DIR, int (*)(DIR*)> entries(::fdopendir(copy.get()), ::closedir);
  if (!entries) return failed("listing mounts");
  (void)copy.release();  // closedir() closes it
  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(entries.get()))
    if (validName(entry->d_name) && mounted(kind, entry->d_name)) names.emplace_back(entry->d_name);
  return names;
}

}  // namespace coffer::walls
