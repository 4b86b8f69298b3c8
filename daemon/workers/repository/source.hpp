#pragma once

#include <cstddef>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "dbus/error.hpp"
#include "os/fd.hpp"

namespace coffer::repository {

/// Opens `path` below `directory` without following any link and without leaving it or crossing /proc's links. -1 with
/// errno.
Fd openBeneath(int directory, std::string_view path, int flags);

/// A regular file below `directory`, at most `limit` bytes; nothing when it is not there or is anything else.
std::optional<std::string> readBeneath(int directory, std::string_view path, std::size_t limit);

/// Whether git would take this as the full name of a branch ("refs/heads/..."). Names that are also an attack on a path
/// (dots, control characters, empty parts) are not.
bool isBranchName(std::string_view name);

/// Where what was decided about landed commits is noted.
inline constexpr std::string_view kNotesRef = "refs/notes/cofferdam";

/// Beside the place of a checkout, of a linked worktree: its repository's git directory and its own.
inline constexpr std::string_view kCommonBeside = "-common";
inline constexpr std::string_view kOwnBeside = "-own";

/// A work tree with a `.git` directory, or a linked worktree of an owner with its two beside it, written by anybody,
/// read as what it is: text files of refs and a directory of objects. It is never opened as a repository: its
/// configuration, hooks, attributes, commondir, shallow, grafts, commit-graph, multi-pack-index, alternates and replace
/// refs are not read by anything.
class Source {
 public:
  /// NoRepository: there is none. RepositoryUnsupported: a kind that cannot be read this way, with the reason. Of an
  /// agent's clone
  /// (`agent`) what would be a reason is no reason: its alternates and shallow file are as if they were not there.
  static std::expected<Source, Error> open(const std::string& root, bool agent);

  /// Whether this is a linked worktree: the common and the own git directory are then two, on different mounts.
  [[nodiscard]] bool isLinked() const { return common_path_ != own_path_; }

  struct Head {
    std::string commit;  ///< forty digits
    std::string branch;  ///< full name, or empty when HEAD is detached
  };
  /// What HEAD or a full branch name points to. NoCommit when it points to nothing.
  [[nodiscard]] std::expected<Head, Error> resolve(std::string_view ref) const;
  /// The commit of a full branch name, or of kNotesRef, from its own file or packed-refs; nothing when the branch does
  /// not exist.
  [[nodiscard]] std::expected<std::optional<std::string>, Error> branch(std::string_view name) const;

  /// Makes `directory` (new) a view of the objects: links to fan-out directories, packs and their indexes, and nothing
  /// else. A loose object or pack that is no regular file is RepositoryUnsupported.
  [[nodiscard]] std::expected<void, Error> viewObjects(const std::string& directory) const;

  [[nodiscard]] int root() const { return root_.get(); }
  [[nodiscard]] const std::string& path() const { return path_; }
  /// The git directory with objects, branches, packed-refs and info.
  [[nodiscard]] int common() const { return common_.get(); }
  [[nodiscard]] const std::string& commonPath() const { return common_path_; }
  /// The git directory with HEAD, its log and the index.
  [[nodiscard]] int own() const { return own_.get(); }
  [[nodiscard]] const std::string& ownPath() const { return own_path_; }

 private:
  [[nodiscard]] std::expected<void, Error> openLinked();

  std::string path_, common_path_, own_path_;
  Fd root_, common_, own_;
};

}  // namespace coffer::repository
