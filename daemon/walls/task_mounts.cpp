#include "walls/task_mounts.hpp"

#include <chrono>

#include <fcntl.h>
#include <sys/stat.h>

#include "model/limits.hpp"
#include "os/open_inside.hpp"
#include "os/tree_remover.hpp"
#include "walls/loop_device.hpp"
#include "walls/mounts.hpp"

namespace coffer::walls {

namespace {

/// A directory of ours in an image, made if missing. One that another uid owns is somebody else's and refused; root's
/// is one that we made and did not get to give away.
Result<Fd> ownedDirectory(int parent, const std::string& name, mode_t mode, std::uint32_t uid) {
  if (::mkdirat(parent, name.c_str(), 0700) != 0 && errno != EEXIST) return failed("making a directory in an image");
  Fd directory = os::openDirectoryInside(parent, name);
  if (!directory) {
    if (errno == ENOTDIR || errno == ELOOP)
      return refuse(ErrorCode::NameTaken, "`" + name + "` in the image is not a directory");
    return failed("opening a directory in an image");
  }
  struct stat status{};
  if (::fstat(directory.get(), &status) != 0) return failed("looking at a directory in an image");
  if (status.st_uid == uid && status.st_gid == uid) return directory;
  if (status.st_uid != 0)
    return refuse(ErrorCode::NameTaken, "`" + name + "` in the image belongs to uid " + std::to_string(status.st_uid));
  if (::fchmod(directory.get(), mode) != 0 || ::fchown(directory.get(), uid, uid) != 0)
    return failed("giving a directory away");
  return directory;
}

Result<void> checkImage(int image) {
  struct stat status{};
  if (::fstat(image, &status) != 0) return failed("looking at an image");
  const int flags = ::fcntl(image, F_GETFL);
  if (flags < 0) return failed("looking at an image");
  if (!S_ISREG(status.st_mode) || status.st_uid != 0 || status.st_nlink != 1 || (status.st_mode & 022) != 0 ||
      (flags & O_ACCMODE) != O_RDWR || (flags & O_PATH) != 0)
    return refuse(ErrorCode::InvalidArgument,
                  "an image is a regular file of root's with one link, opened for reading and writing");
  return {};
}

Result<void> checkDirectory(int directory, const std::optional<OwnerMap>& map) {
  struct stat status{};
  if (::fstat(directory, &status) != 0) return failed("looking at a directory");
  if (!S_ISDIR(status.st_mode)) return refuse(ErrorCode::InvalidArgument, "what was handed over is not a directory");
  if (map && (status.st_uid != map->fromUid || status.st_gid != map->fromGid))
    return refuse(ErrorCode::InvalidArgument, "the directory belongs to " + std::to_string(status.st_uid) + ":" +
                                                  std::to_string(status.st_gid) +
                                                  ", not to the owner that is to be mapped");
  return {};
}

}  // namespace

Result<void> TaskMounts::room(Kind kind) const {
  auto names = tree_.list(kind);
  if (!names) return std::unexpected(names.error());
  if (names->size() >= limits::kMountsOfAKind)
    return refuse(ErrorCode::Limit,
                  "there are " + std::to_string(limits::kMountsOfAKind) + " mounts of this kind already");
  return {};
}

Result<void> TaskMounts::mountImage(const std::string& name, int image, bool noExec) const {
  if (auto good = checkImage(image); !good) return good;
  if (tree_.mounted(Kind::Image, name)) return {};
  if (auto roomy = room(Kind::Image); !roomy) return roomy;
  auto device = attachLoop(image);
  if (!device) return std::unexpected(device.error());
  auto mount = mountExt4(device->path.c_str(), noExec);
  if (!mount) return std::unexpected(mount.error());
  return tree_.attach(Kind::Image, name, mount->get());
}

Result<void> TaskMounts::mountWorkspace(const std::string& name, int lower, const OwnerMap& map,
                                        const std::optional<LayerPlace>& layer, bool readOnly) const {
  if (auto good = checkDirectory(lower, map); !good) return good;
  if (tree_.mounted(Kind::Workspace, name)) return {};
  if (auto roomy = room(Kind::Workspace); !roomy) return roomy;
  auto base = cloneDirectory(lower, false, map);
  if (!base) return std::unexpected(base.error());
  if (!layer) return tree_.attach(Kind::Workspace, name, base->get());

  auto image = tree_.openMounted(Kind::Image, layer->image);
  if (!image) return std::unexpected(image.error());
  auto place = ownedDirectory(image->get(), layer->directory, 0700, 0);
  if (!place) return std::unexpected(place.error());
  auto upper = ownedDirectory(place->get(), "upper", 0755, map.to);
  if (!upper) return std::unexpected(upper.error());
  auto work = ownedDirectory(place->get(), "work", 0700, 0);
  if (!work) return std::unexpected(work.error());
  auto merged = tree_.whileAttached(name, base->get(),
                                    [&] { return mountOverlay(base->get(), upper->get(), work->get(), readOnly); });
  if (!merged) return std::unexpected(merged.error());
  return tree_.attach(Kind::Workspace, name, merged->get());
}

Result<void> TaskMounts::attachSource(const std::string& name, int directory, bool writable,
                                      const std::optional<OwnerMap>& map) const {
  if (auto good = checkDirectory(directory, map); !good) return good;
  if (tree_.mounted(Kind::Source, name)) return {};
  if (auto roomy = room(Kind::Source); !roomy) return roomy;
  auto clone = cloneDirectory(directory, writable, map);
  if (!clone) return std::unexpected(clone.error());
  return tree_.attach(Kind::Source, name, clone->get());
}

Result<void> TaskMounts::makeDirectory(const std::string& image, const std::string& name, std::uint32_t uid) const {
  auto root = tree_.openMounted(Kind::Image, image);
  if (!root) return std::unexpected(root.error());
  auto made = ownedDirectory(root->get(), name, 0700, uid);
  if (!made) return std::unexpected(made.error());
  return {};
}

Result<bool> TaskMounts::removeDirectory(const std::string& image, const std::string& name) const {
  auto root = tree_.openMounted(Kind::Image, image);
  if (!root) return std::unexpected(root.error());
  const auto until = std::chrono::steady_clock::now() + limits::kRemoveTime;
  const auto gone = os::removeDirectory(root->get(), name, os::Foreign::AsTheyAre, until);
  if (gone) return *gone;
  const auto& [number, what] = gone.error();
  if (number == ENOTDIR || number == ELOOP) return refuse(ErrorCode::NameTaken, "`" + name + "` is not a directory");
  return failed(number, what);
}

}  // namespace coffer::walls
