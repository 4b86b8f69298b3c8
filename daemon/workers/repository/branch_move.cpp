#include "workers/repository/branch_move.hpp"

#include <cerrno>
#include <cstring>
#include <memory>

#include <dirent.h>

#include "workers/repository/git.hpp"
#include "workers/repository/stores.hpp"
#include "workers/repository/work_tree.hpp"
#include "workers/repository/write_failure.hpp"

namespace coffer::repository {

using workers::fault;
using workers::refuse;

std::string inTheWay(const Source& source, const std::string& branch) {
  for (std::size_t slash = branch.find('/', 11); slash != std::string::npos; slash = branch.find('/', slash + 1)) {
    const auto above = branch.substr(0, slash);
    if (const auto commit = source.branch(above); commit && *commit) return above;
  }
  const auto packed = readBeneath(source.common(), "packed-refs", limits::kPackedRefsBytes);
  std::string_view rest = packed ? std::string_view(*packed) : std::string_view();
  while (!rest.empty()) {
    auto line = take(rest, '\n');
    take(line, ' ');
    if (line.starts_with(branch + "/")) return std::string(line);
  }
  return {};
}

std::expected<void, Error> elsewhere(const Source& source, const std::string& branch) {
  const auto standsOn = [&](const std::string& file) {
    const auto head = readBeneath(source.common(), file, limits::kRefBytes);
    return head && std::string_view(*head).substr(0, head->find('\n')) == "ref: " + branch;
  };
  // A repository without an index has no files checked out: a bare one, whose HEAD is nobody's.
  if (source.isLinked() && standsOn("HEAD") && openBeneath(source.common(), "index", O_PATH))
    return refuse(ErrorCode::WrongState, "The branch " + branch +
                                             " is checked out in the repository's main worktree; land on another "
                                             "branch, or check out another one there.");
  Fd fd = openBeneath(source.common(), "worktrees", O_RDONLY | O_DIRECTORY);
  if (!fd) return {};
  struct stat own{};
  if (::fstat(source.own(), &own) != 0) return fault("cannot look at the worktree");
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(::fdopendir(fd.release()), ::closedir);
  while (const dirent* entry = directory ? ::readdir(directory.get()) : nullptr) {
    const std::string name = entry->d_name;
    if (name.starts_with('.')) continue;
    struct stat other{};
    if (::fstatat(::dirfd(directory.get()), name.c_str(), &other, AT_SYMLINK_NOFOLLOW) == 0 &&
        other.st_dev == own.st_dev && other.st_ino == own.st_ino)
      continue;
    if (standsOn("worktrees/" + name + "/HEAD"))
      return refuse(ErrorCode::WrongState, "The branch " + branch + " is checked out in the worktree " +
                                               workers::printable(name) +
                                               "; land on another branch, or remove that worktree.");
  }
  return {};
}

namespace {

std::unexpected<Error> cannotWrite(const std::string& branch, ErrorCode otherwise) {
  const int number = errno;
  if (isFull(number)) return noSpace("cannot move " + branch);
  return refuse(otherwise, "The branch " + branch + " cannot be written: " + std::strerror(number) +
                               ". See who may write below .git there, then accept again.");
}

}  // namespace

std::expected<bool, Error> BranchMove::isMoved(const Source& source) const {
  const auto current = source.branch(branch);
  if (!current) return std::unexpected(current.error());
  const std::string id = current->value_or(std::string(kZeroId));
  if (id == new_id) return true;
  if (id == old_id) return false;
  return refuse(ErrorCode::Stale,
                "The branch " + branch + " has moved to " + id.substr(0, 12) + " since; nothing was changed.");
}

void BranchMove::removeLock(const Source& source) const {
  const auto [parent, name] = splitPath(branch);
  const Fd above = openBeneath(source.common(), parent, O_RDONLY | O_DIRECTORY);
  if (above && readBeneath(above.get(), name + ".lock", limits::kRefBytes) == new_id + "\n")
    ::unlinkat(above.get(), (name + ".lock").c_str(), 0);
}

bool BranchMove::addToLog(int git, const std::string& log, Writes& writes) const {
  const auto text = readBeneath(git, log, limits::kPackedRefsBytes);
  if (!text) return true;  // no log is kept
  const std::string start = old_id + " " + new_id + " ";
  auto last = std::string_view(*text);
  if (last.ends_with('\n')) last.remove_suffix(1);
  if (const auto newline = last.rfind('\n'); newline != std::string_view::npos) last.remove_prefix(newline + 1);
  if (last.starts_with(start)) return true;  // written by a run that was killed
  const Fd file = openBeneath(git, log, O_WRONLY | O_APPEND);
  writes.next();
  return file && workers::writeAll(file.get(), start + who + " " + when + "\t" + message + "\n");
}

std::expected<void, Error> BranchMove::run(const Source& source, const std::string& stage, bool resumed,
                                           Writes& writes) const {
  const int git = source.common();
  const std::string content = new_id + "\n";
  const auto [parent, name] = splitPath(branch);
  const std::string lock = name + ".lock";
  if (!makeParents(git, branch, 0777))
    return refuse(ErrorCode::NameTaken, "A branch of that name cannot be made: " + branch);
  const Fd above = openBeneath(git, parent, O_RDONLY | O_DIRECTORY);
  const Fd staging(::open(stage.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  if (!above || !staging) return fault("cannot open the directory of the branch");

  // The lock appears with its content or not at all, so that what is found there tells whose it is.
  ::unlinkat(staging.get(), "ref", 0);
  const Fd file(::openat(staging.get(), "ref", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (!file || !workers::writeAll(file.get(), content) || ::fsync(file.get()) != 0)
    return cannotWrite(branch, ErrorCode::Internal);
  writes.next();
  if (::linkat(staging.get(), "ref", above.get(), lock.c_str(), 0) != 0) {
    if (errno != EEXIST) return cannotWrite(branch, ErrorCode::AccessDenied);
    if (!resumed || readBeneath(git, branch + ".lock", limits::kRefBytes) != content)
      return refuse(ErrorCode::Busy, "Another git process has locked " + branch +
                                         "; accept again when it has ended. If none runs, it was left by one that "
                                         "died: remove .git/" +
                                         branch + ".lock.");
  }
  const auto moved = isMoved(source);
  if (!moved || *moved) {
    writes.next();
    ::unlinkat(above.get(), lock.c_str(), 0);
    if (!moved) return std::unexpected(moved.error());
    return {};
  }
  if (!addToLog(git, "logs/" + branch, writes) || (head && !addToLog(source.own(), "logs/HEAD", writes))) {
    const int number = errno;
    ::unlinkat(above.get(), lock.c_str(), 0);
    errno = number;
    return cannotWrite(branch + " (its log)", ErrorCode::AccessDenied);
  }
  writes.next();
  ::unlinkat(above.get(), name.c_str(), AT_REMOVEDIR);  // what removed branches below it left
  if (::renameat(above.get(), lock.c_str(), above.get(), name.c_str()) != 0) {
    const int number = errno;
    ::unlinkat(above.get(), lock.c_str(), 0);
    errno = number;
    return cannotWrite(branch, ErrorCode::NameTaken);
  }
  ::fsync(above.get());
  return {};
}

}  // namespace coffer::repository
