#pragma once

#include <expected>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "dbus/error.hpp"
#include "workers/repository/stores.hpp"
#include "workers/repository/writes.hpp"

namespace coffer::repository {

enum class Side { Old, New };

/// The files of an owner's checkout that a landing changes. Each path is looked at and replaced as a whole, never
/// through a link, so at any moment it is what it was or what it shall be, and a run that was killed can be told from a
/// person's edit.
class WorkTree {
 public:
  /// `root` is the checkout's top (not owned). `stage` has `old/` and `new/` with the files of both sides. `spare` is
  /// the path of a file that is not there, on the checkout's mount: what is put is written there first.
  WorkTree(int root, std::string stage, std::string spare, const std::vector<Change>& changes, Writes& writes);

  /// Whether the path on disk is what that side says.
  [[nodiscard]] bool is(const Change& change, Side side) const;
  /// Brings every path that is not there yet to that side: removals first, then files.
  [[nodiscard]] std::expected<void, Error> bring(Side side);

  static bool present(const Change& change, Side side) {
    return (side == Side::Old ? change.old_mode : change.new_mode) != "000000";
  }

 private:
  enum class Kind { Absent, File, Program, Link, Other };
  struct Entry {
    Kind kind = Kind::Absent;
    mode_t mode = 0;
    std::string target;
  };
  [[nodiscard]] Entry look(int directory, std::string_view path, bool staged) const;
  [[nodiscard]] bool onlyOurs(const std::string& path) const;
  [[nodiscard]] std::expected<void, Error> remove(const std::string& path);
  [[nodiscard]] std::expected<void, Error> put(const Change& change, Side side);
  void removeEmpty(const std::string& path);

  int root_;
  std::string stage_;
  std::string spare_;
  const std::vector<Change>& changes_;
  std::map<std::string, const Change*, std::less<>> by_path_;
  Writes& writes_;
};

/// The parent of a path and its last part; "." when it has none.
std::pair<std::string, std::string> splitPath(std::string_view path);

/// Makes the directories above a path, beneath `directory`. False with errno.
bool makeParents(int directory, std::string_view path, mode_t mode);

}  // namespace coffer::repository
