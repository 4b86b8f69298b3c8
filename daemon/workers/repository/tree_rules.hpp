#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace coffer::repository {

/// Whether a name in a tree is `.git` on some file system: letter case, HFS+'s ignored code points, NTFS's trailing
/// dots and spaces, its streams and short names, a backslash as separator.
bool isDotGit(std::string_view name);

/// The name with ASCII letters folded, for telling names that collide where case does not count.
std::string folded(std::string_view name);

/// What our rules make of one tree object. Names are bytes; nothing but these rules is asked of them.
struct TreeVerdict {
  std::string refused;                  ///< why the tree is not taken; empty when it is
  std::vector<std::string> collisions;  ///< names that another one in this tree equals but for case
};

/// Looks at the raw bytes of a tree object: entries whole, modes known (with `plain_modes` the four git writes today,
/// and gitlinks), names neither empty nor `.` nor `..` nor `.git` in any disguise, without a slash, each once.
TreeVerdict examineTreeObject(std::string_view bytes, bool plain_modes);

}  // namespace coffer::repository
