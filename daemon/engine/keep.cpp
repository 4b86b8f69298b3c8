#include "engine/keep.hpp"

#include <cerrno>
#include <cstring>
#include <string_view>
#include <vector>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/beneath.hpp"

namespace coffer::engine {
namespace {

std::unexpected<Error> failed(const std::string& what) {
  const int number = errno;
  return std::unexpected(Error{number == ENOSPC || number == EDQUOT ? ErrorCode::NoSpace : ErrorCode::Internal,
                               "cannot " + what + ": " + std::strerror(number)});
}

// A rename takes names out of the directory, so it must be ours first. The worker has ended and is the only one who
// ever had it.
std::expected<Fd, Error> takeOver(int parent, std::string_view path) {
  auto directory = os::openBeneath(parent, path, O_RDONLY | O_DIRECTORY);
  if (!directory) return directory;
  if (::fchown(directory->get(), 0, 0) < 0) return failed("take over the output of a worker");
  return directory;
}

bool packFile(std::string_view name) {
  if (!name.starts_with("pack-") || !(name.ends_with(".pack") || name.ends_with(".idx") || name.ends_with(".rev")))
    return false;
  name = name.substr(5, name.rfind('.') - 5);
  return name.size() == 40 && name.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::expected<std::vector<std::string>, Error> list(int directory) {
  const int copy = ::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (copy < 0) return failed("list the output of a worker");
  DIR* stream = ::fdopendir(copy);
  if (!stream) {
    ::close(copy);
    return failed("list the output of a worker");
  }
  std::vector<std::string> names;
  while (const auto* entry = ::readdir(stream))
    names.emplace_back(entry->d_name);
  ::closedir(stream);
  return names;
}

// Gives a plain file to root, for good.
std::expected<void, Error> own(int directory, const std::string& name, std::uint64_t limit, mode_t mode) {
  auto file = os::openBeneath(directory, name, O_RDONLY | O_NONBLOCK);
  if (!file) return std::unexpected(file.error());
  struct stat status{};
  if (::fstat(file->get(), &status) < 0) return failed("look at the output of a worker");
  if (!S_ISREG(status.st_mode) || status.st_nlink != 1)
    return std::unexpected(Error{ErrorCode::Internal, "a worker left " + name + ", which is not a plain file"});
  if (limit && static_cast<std::uint64_t>(status.st_size) > limit)
    return std::unexpected(Error{ErrorCode::TooLarge, "a worker left " + name + ", which is longer than its limit"});
  if (::fchown(file->get(), 0, 0) < 0 || ::fchmod(file->get(), mode) < 0)
    return failed("take over the output of a worker");
  if (::fsync(file->get()) < 0) return failed("write the output of a worker to disk");
  return {};
}

}  // namespace

std::expected<void, Error> makePath(const std::string& path) {
  for (std::size_t at = 1; at != std::string::npos;) {
    at = path.find('/', at + 1);
    const auto part = path.substr(0, at);
    if (::mkdir(part.c_str(), 0755) < 0) {
      if (errno != EEXIST) return failed("make " + part);
    } else if (::chmod(part.c_str(), 0755) < 0) {  // whatever the umask says
      return failed("make " + part);
    }
  }
  return {};
}

std::expected<void, Error> showFiles(const std::string& output, const std::vector<std::string>& names) {
  auto top = os::openDirectory(output);
  if (!top) return std::unexpected(top.error());
  if (::fchown(top->get(), 0, 0) < 0 || ::fchmod(top->get(), 0755) < 0)
    return failed("take over the output of a worker");
  for (const auto& name : names)
    if (auto owned = own(top->get(), name, 0, 0444); !owned) return owned;
  return {};
}

std::expected<void, Error> keepPacks(const std::string& output, const std::string& objects) {
  auto top = os::openDirectory(output);
  if (!top) return std::unexpected(top.error());
  auto from = takeOver(top->get(), "objects/pack");
  if (!from) {
    if (from.error().code == ErrorCode::NotFound) return {};  // nothing new
    return std::unexpected(from.error());
  }
  if (auto made = makePath(objects + "/pack"); !made) return made;
  auto to = os::openDirectory(objects + "/pack");
  if (!to) return std::unexpected(to.error());
  auto names = list(from->get());
  if (!names) return std::unexpected(names.error());
  // Indexes last: a pack without its index is invisible to readers, an index without its pack is an error to them.
  for (const bool indexes : {false, true}) {
    for (const auto& name : *names) {
      if (!packFile(name) || name.ends_with(".idx") != indexes) continue;
      if (auto owned = own(from->get(), name, 0, 0444); !owned) return owned;
      if (::renameat(from->get(), name.c_str(), to->get(), name.c_str()) < 0) return failed("keep " + name);
    }
  }
  if (::fsync(to->get()) < 0) return failed("write packs to disk");
  return {};
}

std::expected<void, Error> keepTree(const std::string& output, const std::string& name, const std::string& destination,
                                    const std::string& as) {
  if (auto made = makePath(destination); !made) return made;
  auto to = os::openDirectory(destination);
  if (!to) return std::unexpected(to.error());
  struct stat status{};
  if (::fstatat(to->get(), as.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0) return {};
  auto from = os::openDirectory(output);
  if (!from) return std::unexpected(from.error());
  if (::fchown(from->get(), 0, 0) < 0) return failed("take over the output of a worker");
  auto tree = os::openBeneath(from->get(), name, O_RDONLY | O_DIRECTORY);
  if (!tree) return std::unexpected(tree.error());
  if (::fstat(tree->get(), &status) < 0) return failed("look at the output of a worker");
  // Moving a directory to another parent writes to it; its owner gets it back unchanged.
  if (::fchown(tree->get(), 0, 0) < 0) return failed("take over the output of a worker");
  const int moved = ::renameat(from->get(), name.c_str(), to->get(), as.c_str());
  const int number = errno;
  if (::fchown(tree->get(), status.st_uid, status.st_gid) < 0) return failed("give a tree back to its owner");
  errno = number;
  if (moved < 0 && number != EEXIST && number != ENOTEMPTY) return failed("keep " + as);
  if (::fsync(to->get()) < 0) return failed("write a tree to disk");
  return {};
}

std::expected<void, Error> keepFile(const std::string& output, const std::string& name, const std::string& destination,
                                    const std::string& as, std::uint64_t limit, unsigned mode) {
  if (auto made = makePath(destination); !made) return made;
  auto to = os::openDirectory(destination);
  if (!to) return std::unexpected(to.error());
  auto from = os::openDirectory(output);
  if (!from) return std::unexpected(from.error());
  if (::fchown(from->get(), 0, 0) < 0) return failed("take over the output of a worker");
  if (auto owned = own(from->get(), name, limit, mode); !owned) return owned;
  if (::renameat(from->get(), name.c_str(), to->get(), as.c_str()) < 0) return failed("keep " + name);
  return {};
}

}  // namespace coffer::engine
