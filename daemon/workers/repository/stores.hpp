#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "workers/repository/git.hpp"
#include "workers/worker.hpp"

namespace coffer::repository {

/// Our object directories of this run: IN/base/objects and IN/task/objects, those that exist.
std::vector<std::string> stores(const workers::Job& job);

/// The value of a request's record that must be a commit id; InvalidArgument otherwise.
std::expected<std::string, Error> commitIn(const workers::Job& job, std::string_view key);

/// The tree of a commit; NoCommit when it is not a commit that is there.
std::expected<std::string, Error> treeOf(const Git& git, const std::string& commit);

/// One changed path between two trees.
struct Change {
  std::string old_mode, new_mode, old_id, new_id;
  char status = 'M';
  std::string path;
  std::string from;  ///< old path of a rename or copy
};
/// What differs between two commits or trees; with `renames`, renames are found.
std::expected<std::vector<Change>, Error> changes(const Git& git, const std::string& from, const std::string& to,
                                                  bool renames);

/// Number of objects a pack's header announces, after a look at its magic; Internal when it is no pack.
std::expected<std::uint64_t, Error> objectsInPack(int fd);

/// Adds paths to a report under `key`, as many as a report may name.
class PathList {
 public:
  PathList(Records& report, std::string_view key) : report_(report), key_(key) {}
  bool add(std::string_view path) {
    if (count_ == limits::kPathsShown || bytes_ + path.size() > limits::kPathBytesShown) return false;
    ++count_;
    bytes_ += path.size();
    report_.add(key_, path);
    return true;
  }

 private:
  Records& report_;
  std::string key_;
  std::size_t count_ = 0;
  std::size_t bytes_ = 0;
};

/// What a refusal says about paths: the first few by name, each on a line of its own.
std::string pathLines(const std::vector<std::string>& paths);

/// Takes the next part up to `end` off the front of `rest`.
inline std::string_view take(std::string_view& rest, char end) {
  const auto part = rest.substr(0, rest.find(end));
  rest.remove_prefix(std::min(rest.size(), part.size() + 1));
  return part;
}

}  // namespace coffer::repository
