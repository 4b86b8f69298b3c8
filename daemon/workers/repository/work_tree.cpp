#include "workers/repository/work_tree.hpp"

#include <cerrno>
#include <cstring>
#include <memory>

#include <dirent.h>

#include "workers/repository/source.hpp"
#include "workers/repository/write_failure.hpp"

namespace coffer::repository {
namespace {

using workers::fault;
using workers::refuse;

std::unexpected<Error> failed(std::string_view what, std::string_view path) {
  const int number = errno;
  const std::string words = std::string(what) + " " + workers::printable(path) + ": " + std::strerror(number);
  if (isFull(number)) return refuse(ErrorCode::NoSpace, words + ". Make room, then accept again.");
  if (number == EACCES || number == EPERM || number == EROFS)
    return refuse(ErrorCode::AccessDenied, words + ". See who may write there, then accept again.");
  return refuse(ErrorCode::WrongState, words);
}

bool sameBytes(int one, int other) {
  char a[16384], b[16384];
  for (;;) {
    const auto got = ::read(one, a, sizeof a);
    if (got < 0) return false;
    for (ssize_t at = 0; at < got;) {
      const auto more = ::read(other, b + at, static_cast<std::size_t>(got - at));
      if (more <= 0) return false;
      at += more;
    }
    if (got == 0) return ::read(other, b, 1) == 0;
    if (std::memcmp(a, b, static_cast<std::size_t>(got)) != 0) return false;
  }
}

}  // namespace

std::pair<std::string, std::string> splitPath(std::string_view path) {
  const auto slash = path.rfind('/');
  if (slash == std::string_view::npos) return {".", std::string(path)};
  return {std::string(path.substr(0, slash)), std::string(path.substr(slash + 1))};
}

bool makeParents(int directory, std::string_view path, mode_t mode) {
  for (std::size_t slash = path.find('/'); slash != std::string_view::npos; slash = path.find('/', slash + 1)) {
    const auto part = path.substr(0, slash);
    if (openBeneath(directory, part, O_PATH | O_DIRECTORY)) continue;
    const auto [parent, name] = splitPath(part);
    const Fd above = openBeneath(directory, parent, O_PATH | O_DIRECTORY);
    if (!above || (::mkdirat(above.get(), name.c_str(), mode) != 0 && errno != EEXIST)) return false;
    if (!openBeneath(directory, part, O_PATH | O_DIRECTORY)) return false;
  }
  return true;
}

WorkTree::WorkTree(int root, std::string stage, std::string spare, const std::vector<Change>& changes, Writes& writes)
    : root_(root), stage_(std::move(stage)), spare_(std::move(spare)), changes_(changes), writes_(writes) {
  for (const auto& change : changes_)
    by_path_.emplace(change.path, &change);
}

bool WorkTree::onlyOurs(const std::string& path) const {
  Fd fd = openBeneath(root_, path, O_RDONLY | O_DIRECTORY);
  if (!fd) return false;
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(::fdopendir(fd.release()), ::closedir);
  while (const dirent* entry = directory ? ::readdir(directory.get()) : nullptr) {
    const std::string name = entry->d_name;
    if (name == "." || name == "..") continue;
    const std::string below = path + "/" + name;
    struct stat status{};
    if (::fstatat(::dirfd(directory.get()), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return false;
    if (S_ISDIR(status.st_mode) ? !onlyOurs(below) : !by_path_.contains(below)) return false;
  }
  return directory != nullptr;
}

WorkTree::Entry WorkTree::look(int directory, std::string_view path, bool staged) const {
  const auto [parent, name] = splitPath(path);
  const Fd above = openBeneath(directory, parent, O_PATH | O_DIRECTORY);
  if (!above) {
    if (errno == ENOENT || staged) return {};
    // Something that is no directory stands where a parent should be. If it is ours, the path is as good as absent.
    for (std::size_t slash = path.find('/'); slash != std::string_view::npos; slash = path.find('/', slash + 1)) {
      const auto part = path.substr(0, slash);
      if (!openBeneath(directory, part, O_PATH | O_DIRECTORY))
        return {by_path_.contains(part) ? Kind::Absent : Kind::Other, 0, {}};
    }
    return {Kind::Other, 0, {}};
  }
  struct stat status{};
  if (::fstatat(above.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0)
    return {errno == ENOENT ? Kind::Absent : Kind::Other, 0, {}};
  if (S_ISREG(status.st_mode))
    return {(status.st_mode & S_IXUSR) != 0 ? Kind::Program : Kind::File, status.st_mode, {}};
  if (S_ISDIR(status.st_mode))
    return {!staged && onlyOurs(std::string(path)) ? Kind::Absent : Kind::Other, status.st_mode, {}};
  if (!S_ISLNK(status.st_mode)) return {Kind::Other, status.st_mode, {}};
  std::string target(4096, '\0');
  const auto size = ::readlinkat(above.get(), name.c_str(), target.data(), target.size());
  if (size < 0) return {Kind::Other, 0, {}};
  target.resize(static_cast<std::size_t>(size));
  return {Kind::Link, status.st_mode, std::move(target)};
}

bool WorkTree::is(const Change& change, Side side) const {
  const auto disk = look(root_, change.path, false);
  if (!present(change, side)) return disk.kind == Kind::Absent;
  if (disk.kind == Kind::Absent || disk.kind == Kind::Other) return false;
  const Fd stage(
      ::open((stage_ + (side == Side::Old ? "/old" : "/new")).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  const auto staged = look(stage.get(), change.path, true);
  if (disk.kind != staged.kind || disk.target != staged.target) return false;
  if (disk.kind == Kind::Link) return true;
  const Fd one = openBeneath(root_, change.path, O_RDONLY);
  const Fd other = openBeneath(stage.get(), change.path, O_RDONLY);
  return one && other && sameBytes(one.get(), other.get());
}

void WorkTree::removeEmpty(const std::string& path) {
  for (auto parent = splitPath(path).first; parent != "."; parent = splitPath(parent).first) {
    const auto [above, name] = splitPath(parent);
    const Fd directory = openBeneath(root_, above, O_PATH | O_DIRECTORY);
    if (!directory || ::unlinkat(directory.get(), name.c_str(), AT_REMOVEDIR) != 0) return;
  }
}

std::expected<void, Error> WorkTree::remove(const std::string& path) {
  const auto [parent, name] = splitPath(path);
  const Fd above = openBeneath(root_, parent, O_PATH | O_DIRECTORY);
  if (!above) return {};
  struct stat status{};
  if (::fstatat(above.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0 || S_ISDIR(status.st_mode)) return {};
  writes_.next();
  if (::unlinkat(above.get(), name.c_str(), 0) != 0) return failed("Cannot remove", path);
  removeEmpty(path);
  return {};
}

std::expected<void, Error> WorkTree::put(const Change& change, Side side) {
  const auto& path = change.path;
  const Fd stage(::open(stage_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  const Fd from(
      ::openat(stage.get(), side == Side::Old ? "old" : "new", O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  const auto staged = look(from.get(), path, true);
  const auto disk = look(root_, path, false);
  ::unlink(spare_.c_str());
  if (staged.kind == Kind::Link) {
    if (::symlink(staged.target.c_str(), spare_.c_str()) != 0) return failed("Cannot write", path);
  } else if (staged.kind == Kind::File || staged.kind == Kind::Program) {
    // Permissions a person gave a file stay; git knows only whether it is a program.
    mode_t mode = (disk.kind == Kind::File || disk.kind == Kind::Program ? disk.mode : staged.mode) & 0666U;
    if (staged.kind == Kind::Program) mode |= (mode & 0444U) >> 2;
    const Fd in = openBeneath(from.get(), path, O_RDONLY);
    const Fd out(::open(spare_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
    char buffer[65536];
    ssize_t got = in && out ? 1 : -1;
    while (got > 0 && (got = ::read(in.get(), buffer, sizeof buffer)) > 0)
      if (!workers::writeAll(out.get(), std::string_view(buffer, static_cast<std::size_t>(got)))) got = -1;
    if (got < 0 || ::fchmod(out.get(), mode) != 0) return failed("Cannot write", path);
  } else {
    return fault("a staged file is missing: " + workers::printable(path));
  }
  if (!makeParents(root_, path, 0777)) return failed("Cannot make the directory of", path);
  const auto [parent, name] = splitPath(path);
  const Fd above = openBeneath(root_, parent, O_PATH | O_DIRECTORY);
  if (!above) return failed("Cannot open the directory of", path);
  writes_.next();
  ::unlinkat(above.get(), name.c_str(), AT_REMOVEDIR);  // an empty directory that a removed file left
  if (::renameat(AT_FDCWD, spare_.c_str(), above.get(), name.c_str()) != 0) return failed("Cannot write", path);
  return {};
}

std::expected<void, Error> WorkTree::bring(Side side) {
  for (auto change = changes_.rbegin(); change != changes_.rend(); ++change)
    if (!present(*change, side) && !is(*change, side))
      if (const auto done = remove(change->path); !done) return done;
  for (const auto& change : changes_)
    if (present(change, side) && !is(change, side))
      if (const auto done = put(change, side); !done) return done;
  return {};
}

}  // namespace coffer::repository
