#include "workers/repository/stores.hpp"

namespace coffer::repository {

using workers::fault;
using workers::refuse;

std::vector<std::string> stores(const workers::Job& job) {
  std::vector<std::string> result;
  for (const auto* name : {"/base/objects", "/task/objects"})
    if (std::string path = job.in + name; ::access(path.c_str(), X_OK) == 0) result.push_back(std::move(path));
  return result;
}

std::expected<std::string, Error> commitIn(const workers::Job& job, std::string_view key) {
  std::string value(job.request.get(key));
  if (!isObjectId(value))
    return refuse(ErrorCode::InvalidArgument, "The request's " + std::string(key) + " is no commit id.");
  return value;
}

std::expected<std::string, Error> treeOf(const Git& git, const std::string& commit) {
  auto result = git.run({.arguments = {"rev-parse", "--verify", "-q", commit + "^{tree}"}});
  if (!result) return std::unexpected(result.error());
  const std::string tree = result->out.substr(0, 40);
  if (!result->ok() || !isObjectId(tree)) return refuse(ErrorCode::NoCommit, "The commit " + commit + " is not there.");
  return tree;
}

std::expected<std::vector<Change>, Error> changes(const Git& git, const std::string& from, const std::string& to,
                                                  bool renames) {
  const auto text = git.output({"diff-tree", "-r", "-z", "--raw", "--no-abbrev", renames ? "-M" : "--no-renames",
                                "--ignore-submodules=none", from + "^{tree}", to + "^{tree}"},
                               {}, limits::kPathListBytes);
  if (!text) return std::unexpected(text.error());
  std::vector<Change> result;
  std::string_view rest = *text;
  while (!rest.empty()) {
    // ":100644 100755 OLD NEW M" NUL path NUL [path NUL]
    auto fields = take(rest, '\0');
    if (!fields.starts_with(':')) return fault("git diff-tree: an unknown form");
    fields.remove_prefix(1);
    Change change;
    change.old_mode = take(fields, ' ');
    change.new_mode = take(fields, ' ');
    change.old_id = take(fields, ' ');
    change.new_id = take(fields, ' ');
    change.status = fields.empty() ? '?' : fields.front();
    change.path = take(rest, '\0');
    if (change.status == 'R' || change.status == 'C') {
      change.from = std::move(change.path);
      change.path = take(rest, '\0');
    }
    result.push_back(std::move(change));
  }
  return result;
}

std::string pathLines(const std::vector<std::string>& paths) {
  std::string words;
  for (std::size_t i = 0; i < paths.size() && i < 20; ++i)
    words += "\n  " + workers::printable(paths[i]);
  if (paths.size() > 20) words += "\n  and " + std::to_string(paths.size() - 20) + " more";
  return words;
}

std::expected<std::uint64_t, Error> objectsInPack(int fd) {
  unsigned char header[12] = {};
  if (::pread(fd, header, sizeof header, 0) != static_cast<ssize_t>(sizeof header) ||
      std::string_view(reinterpret_cast<const char*>(header), 4) != "PACK")
    return fault("this is no pack");
  std::uint64_t count = 0;
  for (int i = 8; i < 12; ++i)
    count = count << 8 | header[i];
  return count;
}

}  // namespace coffer::repository
