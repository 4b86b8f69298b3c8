#include "os/tree_remover.hpp"

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string_view>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/open_inside.hpp"

namespace coffer::os {

namespace {

using Clock = std::chrono::steady_clock;
using Gone = std::expected<bool, RemovalFault>;

std::unexpected<RemovalFault> failed(const char* what) { return std::unexpected(RemovalFault{errno, what}); }

// Deeper directories are moved up to the top first, so neither the stack nor the number of descriptors depends on the
// tree.
constexpr int kDepth = 24;

class Remover {
 public:
  Remover(int top, Foreign foreign, std::optional<Clock::time_point> until)
      : top_(top), foreign_(foreign), until_(until) {}

  /// Makes a directory writable for us.
  [[nodiscard]] std::expected<void, RemovalFault> open(int directory) const {
    struct stat status{};
    if (foreign_ == Foreign::AsTheyAre) return {};
    if (::fstat(directory, &status) < 0) return failed("looking at a directory");
    if (status.st_uid != 0 && ::fchown(directory, 0, 0) < 0) return failed("taking over a directory");
    if ((status.st_mode & 0700U) != 0700U && ::fchmod(directory, 0700) < 0) return failed("taking over a directory");
    return {};
  }

  /// Empties a directory. False: the time was over.
  Gone empty(int directory, int depth) {
    alignas(dirent64) std::array<char, 16 * 1024> buffer;
    for (;;) {
      if (::lseek(directory, 0, SEEK_SET) < 0) return failed("reading a directory");
      bool removed = false;
      for (;;) {
        const ssize_t got = ::getdents64(directory, buffer.data(), buffer.size());
        if (got < 0) return failed("reading a directory");
        if (got == 0) break;
        for (std::size_t at = 0; at < static_cast<std::size_t>(got);) {
          const auto* entry = static_cast<const dirent64*>(static_cast<const void*>(buffer.data() + at));
          at += entry->d_reclen;
          const std::string name(entry->d_name);
          if (name == "." || name == "..") continue;
          auto gone = remove(directory, name, depth);
          if (!gone || !*gone) return gone;
          removed = true;
        }
      }
      // Entries may be missed while a directory shrinks under the reader, so it is read again until it has none.
      if (!removed) return true;
    }
  }

  Gone remove(int directory, const std::string& name, int depth) {
    if (isOver()) return false;
    if (::unlinkat(directory, name.c_str(), 0) == 0 || errno == ENOENT) return true;
    if (errno != EISDIR && errno != EPERM) return failed("removing a file");
    if (::unlinkat(directory, name.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT) return true;
    if (errno != ENOTEMPTY && errno != EEXIST)
      return failed(errno == EBUSY ? "removing a directory that something is mounted on" : "removing a directory");
    {
      const Fd inner = openDirectoryInside(directory, name);
      if (!inner) return failed("opening a directory to empty it");
      if (auto opened = open(inner.get()); !opened) return std::unexpected(opened.error());
      if (depth >= kDepth) return lift(directory, name);
      auto emptied = empty(inner.get(), depth + 1);
      if (!emptied || !*emptied) return emptied;
    }
    if (::unlinkat(directory, name.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT) return true;
    return failed("removing a directory");
  }

 private:
  [[nodiscard]] bool isOver() const { return until_ && Clock::now() >= *until_; }

  /// Moves a directory to the top under a name nobody has there; the top is read again and finds it.
  Gone lift(int directory, const std::string& name) {
    for (;;) {
      if (isOver()) return false;
      const std::string lifted = ".lifted-" + std::to_string(++count_);
      if (::renameat2(directory, name.c_str(), top_, lifted.c_str(), RENAME_NOREPLACE) == 0) return true;
      if (errno != EEXIST) return failed("moving a deep directory");
    }
  }

  int top_;
  Foreign foreign_;
  std::optional<Clock::time_point> until_;
  std::uint64_t count_ = 0;
};

}  // namespace

std::expected<bool, RemovalFault> removeDirectory(int parent, const std::string& name, Foreign foreign,
                                                  std::optional<Clock::time_point> until) {
  const Fd top = openDirectoryInside(parent, name);
  if (!top) {
    if (errno == ENOENT) return true;
    return failed("opening a directory to remove it");
  }
  Remover remover(top.get(), foreign, until);
  if (auto opened = remover.open(top.get()); !opened) return std::unexpected(opened.error());
  auto emptied = remover.empty(top.get(), 0);
  if (!emptied || !*emptied) return emptied;
  if (::unlinkat(parent, name.c_str(), AT_REMOVEDIR) != 0 && errno != ENOENT) return failed("removing a directory");
  return true;
}

}  // namespace coffer::os
