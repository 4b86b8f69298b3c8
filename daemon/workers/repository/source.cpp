#include "workers/repository/source.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <vector>

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "model/limits.hpp"
#include "workers/repository/git.hpp"
#include "workers/worker.hpp"

namespace coffer::repository {
namespace {

using workers::fault;
using workers::refuse;

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};
using Directory = std::unique_ptr<DIR, CloseDirectory>;

Directory listBeneath(int directory, std::string_view path) {
  Fd fd = openBeneath(directory, path, O_RDONLY | O_DIRECTORY);
  if (!fd) return nullptr;
  return Directory(::fdopendir(fd.release()));
}

bool existsBeneath(int directory, std::string_view path) {
  return static_cast<bool>(openBeneath(directory, path, O_PATH));
}

/// The kind of a directory entry, from the file system when the entry does not tell.
bool isRegular(DIR* directory, const dirent& entry) {
  if (entry.d_type != DT_UNKNOWN) return entry.d_type == DT_REG;
  struct stat status{};
  return ::fstatat(::dirfd(directory), entry.d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(status.st_mode);
}

constexpr auto kReftable =
    "The repository keeps its refs as reftable, and only files are supported. Run: git refs migrate --ref-format=files";
constexpr auto kSha256 =
    "The repository uses SHA-256, and only SHA-1 is supported. There is no way around that but another repository.";
constexpr auto kNoBranch = "The repository's HEAD names no branch and no commit. Check out a branch: git switch BRANCH";

bool isHex(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

std::string_view firstLine(std::string_view text) {
  auto line = text.substr(0, text.find('\n'));
  while (!line.empty() && (line.back() == ' ' || line.back() == '\r' || line.back() == '\t'))
    line.remove_suffix(1);
  return line;
}

}  // namespace

Fd openBeneath(int directory, std::string_view path, int flags) {
  open_how how{};
  how.flags = static_cast<unsigned>(flags | O_CLOEXEC | O_NOFOLLOW);
  if ((flags & O_PATH) == 0) how.flags |= O_NONBLOCK | O_NOCTTY;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  const std::string name(path);
  return Fd(static_cast<int>(::syscall(SYS_openat2, directory, name.c_str(), &how, sizeof how)));
}

std::optional<std::string> readBeneath(int directory, std::string_view path, std::size_t limit) {
  const Fd file = openBeneath(directory, path, O_RDONLY);
  struct stat status{};
  if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  std::string text;
  char buffer[16384];
  for (;;) {
    const auto got = ::read(file.get(), buffer, sizeof buffer);
    if (got < 0) return std::nullopt;
    if (got == 0) return text;
    text.append(buffer, static_cast<std::size_t>(got));
    if (text.size() > limit) return std::nullopt;
  }
}

bool isBranchName(std::string_view name) {
  constexpr std::string_view kPrefix = "refs/heads/";
  if (!name.starts_with(kPrefix) || name.size() > 1024 || name.size() == kPrefix.size()) return false;
  if (name.contains("..") || name.contains("@{") || name.back() == '.') return false;
  for (std::size_t at = 0; at <= name.size();) {
    const auto end = std::min(name.find('/', at), name.size());
    const auto part = name.substr(at, end - at);
    if (part.empty() || part.front() == '.' || part.ends_with(".lock")) return false;
    at = end + 1;
  }
  return std::ranges::none_of(name, [](char c) {
    return static_cast<unsigned char>(c) <= 0x20 || c == 0x7f || std::string_view("~^:?*[\\").contains(c);
  });
}

std::expected<Source, Error> Source::open(const std::string& root, bool agent) {
  Source source;
  source.path_ = root;
  source.root_.reset(::open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!source.root_) return refuse(ErrorCode::NoRepository, "There is no such directory.");
  struct stat status{};
  if (::fstatat(source.root_.get(), ".git", &status, AT_SYMLINK_NOFOLLOW) != 0) {
    const bool bare = existsBeneath(source.root_.get(), "objects") && existsBeneath(source.root_.get(), "HEAD");
    return bare ? refuse(
                      ErrorCode::RepositoryUnsupported,
                      "This is a bare repository, and Cofferdam works on a checkout: git clone it, and add the clone.")
                : refuse(ErrorCode::NoRepository,
                         "There is no Git repository here: the directory has no .git. Give the top of a checkout.");
  }
  if (S_ISLNK(status.st_mode))
    return refuse(ErrorCode::RepositoryUnsupported,
                  "The directory's .git is a symbolic link. Replace it by what it leads to, or add the directory that "
                  "holds that.");
  if (S_ISREG(status.st_mode)) {
    if (agent) return refuse(ErrorCode::RepositoryUnsupported, "The directory's .git is a file.");
    if (const auto linked = source.openLinked(); !linked) return std::unexpected(linked.error());
  } else {
    source.common_path_ = source.own_path_ = root + "/.git";
    source.common_ = openBeneath(source.root_.get(), ".git", O_RDONLY | O_DIRECTORY);
    source.own_ = openBeneath(source.root_.get(), ".git", O_RDONLY | O_DIRECTORY);
  }
  if (!source.common_ || !source.own_)
    return refuse(ErrorCode::NoRepository,
                  "The directory's .git cannot be read; ls -ld .git says what it is and whose.");
  const int git = source.common();
  if (!existsBeneath(git, "objects"))
    return refuse(ErrorCode::NoRepository,
                  "The directory's .git has no objects, so it is no repository, or a damaged one; git fsck says more.");
  if (existsBeneath(git, "reftable")) return refuse(ErrorCode::RepositoryUnsupported, kReftable);
  if (agent) return source;

  if (existsBeneath(git, "shallow"))
    return refuse(ErrorCode::RepositoryUnsupported, "The repository is shallow. Run: git fetch --unshallow");
  if (const auto alternates = readBeneath(git, "objects/info/alternates", limits::kRefBytes);
      existsBeneath(git, "objects/info/alternates") && (!alternates || !firstLine(*alternates).empty()))
    return refuse(
        ErrorCode::RepositoryUnsupported,
        "The repository borrows objects from another one (objects/info/alternates). Run: git repack -a -d && rm "
        ".git/objects/info/alternates");
  if (const auto packs = listBeneath(git, "objects/pack")) {
    while (const dirent* entry = ::readdir(packs.get()))
      if (std::string_view(entry->d_name).ends_with(".promisor"))
        return refuse(ErrorCode::RepositoryUnsupported,
                      "The repository is a partial clone: some of its objects are on another machine, which no "
                      "sandbox reaches. Clone it without --filter, and add that clone.");
  }
  return source;
}

std::expected<void, Error> Source::openLinked() {
  common_path_.append(path_).append(kCommonBeside);
  own_path_.append(path_).append(kOwnBeside);
  common_.reset(::open(common_path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  own_.reset(::open(own_path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // Who opened them has followed the file; here it must still name the entry that was opened.
  const auto text = readBeneath(root_.get(), ".git", limits::kRefBytes);
  const auto line = firstLine(text ? std::string_view(*text) : std::string_view());
  const Fd entry = openBeneath(common_.get(), "worktrees/" + std::string(line.substr(line.rfind('/') + 1)), O_PATH);
  struct stat named{}, opened{};
  if (!common_ || !own_ || !entry || ::fstat(entry.get(), &named) != 0 || ::fstat(own_.get(), &opened) != 0 ||
      named.st_dev != opened.st_dev || named.st_ino != opened.st_ino)
    return refuse(ErrorCode::RepositoryUnsupported,
                  "The directory's .git is a file that leads to no linked worktree that was opened with it.");
  return {};
}

std::expected<std::optional<std::string>, Error> Source::branch(std::string_view name) const {
  std::string current(name);
  for (int depth = 0; depth < 5; ++depth) {
    if (!isBranchName(current) && current != kNotesRef)
      return refuse(ErrorCode::InvalidArgument, "That is no branch name: " + workers::printable(current));
    const auto loose = readBeneath(common_.get(), current, limits::kRefBytes);
    if (!loose) break;
    const auto line = firstLine(*loose);
    if (isObjectId(line)) return std::string(line);
    if (line.size() == 64 && isHex(line)) return refuse(ErrorCode::RepositoryUnsupported, kSha256);
    if (!line.starts_with("ref: "))
      return refuse(ErrorCode::RepositoryUnsupported, "The file of the branch " + workers::printable(current) +
                                                          " is damaged; git fsck says more, and git reflog which "
                                                          "commit it was at.");
    current = line.substr(5);
  }
  if (!existsBeneath(common_.get(), "packed-refs")) return std::nullopt;
  const auto packed = readBeneath(common_.get(), "packed-refs", limits::kPackedRefsBytes);
  if (!packed) return refuse(ErrorCode::TooLarge, "The repository's packed-refs is no file or too large.");
  std::string_view rest = *packed;
  while (!rest.empty()) {
    const auto line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    const auto space = line.find(' ');
    if (space == std::string_view::npos || line.substr(space + 1) != current) continue;
    if (isObjectId(line.substr(0, space))) return std::string(line.substr(0, space));
    if (space == 64) return refuse(ErrorCode::RepositoryUnsupported, kSha256);
  }
  return std::nullopt;
}

std::expected<Source::Head, Error> Source::resolve(std::string_view ref) const {
  Head head;
  if (ref == "HEAD") {
    const auto text = readBeneath(own_.get(), "HEAD", limits::kRefBytes);
    if (!text)
      return refuse(ErrorCode::NoRepository, "The repository has no HEAD that can be read; git fsck says more.");
    const auto line = firstLine(*text);
    if (isObjectId(line)) return Head{std::string(line), ""};
    if (line.size() == 64 && isHex(line)) return refuse(ErrorCode::RepositoryUnsupported, kSha256);
    if (!line.starts_with("ref: ")) return refuse(ErrorCode::RepositoryUnsupported, kNoBranch);
    head.branch = line.substr(5);
    while (head.branch.starts_with(' '))
      head.branch.erase(0, 1);
    if (head.branch == "refs/heads/.invalid") return refuse(ErrorCode::RepositoryUnsupported, kReftable);
    if (!isBranchName(head.branch)) return refuse(ErrorCode::RepositoryUnsupported, kNoBranch);
  } else {
    head.branch = ref;
  }
  const auto commit = branch(head.branch);
  if (!commit) return std::unexpected(commit.error());
  if (!*commit)
    return refuse(ErrorCode::NoCommit, "There is no commit on " + workers::printable(head.branch) +
                                           ", and work starts from one. Make it with git commit, or check out a "
                                           "branch that has one.");
  head.commit = **commit;
  return head;
}

std::expected<void, Error> Source::viewObjects(const std::string& directory) const {
  const std::string objects = common_path_ + "/objects/";
  if (::mkdir(directory.c_str(), 0700) != 0 || ::mkdir((directory + "/pack").c_str(), 0700) != 0 ||
      ::mkdir((directory + "/info").c_str(), 0700) != 0)
    return fault("cannot make a view of the objects");
  std::size_t files = 0;
  for (unsigned number = 0; number < 256; ++number) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    const std::string name = {kDigits[number >> 4], kDigits[number & 15]};
    const auto loose = listBeneath(common_.get(), "objects/" + name);
    if (!loose) {
      if (errno == ENOENT) continue;
      return refuse(ErrorCode::RepositoryUnsupported, "Among the repository's objects, " + name + " is no directory.");
    }
    while (const dirent* entry = ::readdir(loose.get())) {
      const std::string_view object = entry->d_name;
      if (object.starts_with(".") || object.starts_with("tmp_obj_")) continue;
      if (++files > limits::kObjectFiles)
        return refuse(ErrorCode::Limit, "The repository has too many loose objects. Run: git gc");
      if (!isRegular(loose.get(), *entry))
        return refuse(ErrorCode::RepositoryUnsupported,
                      "Among the repository's objects there is something that is no file.");
    }
    if (::symlink((objects + name).c_str(), (directory + "/" + name).c_str()) != 0) return fault("cannot link objects");
  }
  const auto packs = listBeneath(common_.get(), "objects/pack");
  if (!packs) {
    if (errno == ENOENT) return {};
    return refuse(ErrorCode::RepositoryUnsupported, "The repository's objects/pack is no directory.");
  }
  while (const dirent* entry = ::readdir(packs.get())) {
    const std::string name = entry->d_name;
    if (!name.starts_with("pack-") || !(name.ends_with(".pack") || name.ends_with(".idx"))) continue;
    if (++files > limits::kObjectFiles)
      return refuse(ErrorCode::Limit, "The repository has too many packs. Run: git gc");
    if (!isRegular(packs.get(), *entry))
      return refuse(ErrorCode::RepositoryUnsupported,
                    "Among the repository's packs there is something that is no file.");
    if (::symlink((objects + "pack/" + name).c_str(), (directory + "/pack/" + name).c_str()) != 0)
      return fault("cannot link packs");
  }
  return {};
}

}  // namespace coffer::repository
