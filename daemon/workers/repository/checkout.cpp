#include <algorithm>
#include <ctime>
#include <filesystem>

#include "workers/repository/source.hpp"
#include "workers/repository/stores.hpp"
#include "workers/repository/verbs.hpp"

namespace coffer::repository {
namespace {

using workers::fault;
using workers::refuse;

/// Files of a checkout are dated back by this many seconds, so that nothing an agent does in the first second after it
/// can look like what the index recorded (git compares whole seconds), and no entry is "racily clean" and read again by
/// every status.
constexpr time_t kDatedBack = 10;

bool replaceFile(const std::string& path, std::string_view text) {
  const std::string temporary = path + ".new";
  ::unlink(temporary.c_str());
  const Fd file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  return file && workers::writeAll(file.get(), text) && ::rename(temporary.c_str(), path.c_str()) == 0;
}

/// A value as git's configuration quotes it.
std::string quoted(std::string_view value) {
  std::string result = "\"";
  for (const char c : value) {
    if (c == '"' || c == '\\') result += '\\';
    if (c == '\n') {
      result += "\\n";
    } else if (c != '\0') {
      result += c;
    }
  }
  return result + "\"";
}

/// Everything in .git but objects and index: it is written anew each time, nothing of it is read.
std::expected<void, Error> writeGitDirectory(const workers::Job& job, const std::string& git,
                                             const std::string& commit) {
  const auto branch = job.request.get("branch");
  if (!branch.empty() && !isBranchName(branch)) return refuse(ErrorCode::InvalidArgument, "That is no branch name.");
  std::string alternates;
  for (const auto path : job.request.all("alternate")) {
    if (!path.starts_with('/') || path.contains('\n'))
      return refuse(ErrorCode::InvalidArgument, "That is no object directory.");
    alternates.append(path).append("\n");
  }
  std::string config =
      "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n"
      "\tcheckStat = minimal\n\ttrustctime = false\n\tfsmonitor = false\n[gc]\n\tauto = 0\n[maintenance]\n\tauto = "
      "false\n";
  if (job.request.has("user-name"))
    config += "[user]\n\tname = " + quoted(job.request.get("user-name")) +
              "\n\temail = " + quoted(job.request.get("user-email")) + "\n";
  for (const auto* name :
       {"", "/objects", "/objects/info", "/objects/pack", "/refs", "/refs/heads", "/refs/tags", "/info"})
    if (::mkdir((git + name).c_str(), 0700) != 0 && errno != EEXIST) return fault("cannot make .git");
  std::string refs = "# pack-refs with: peeled fully-peeled sorted \n";
  if (!branch.empty()) refs.append(commit).append(" ").append(branch).append("\n");
  const std::string head = branch.empty() ? commit + "\n" : "ref: " + std::string(branch) + "\n";
  if (!replaceFile(git + "/config", config) || !replaceFile(git + "/packed-refs", refs) ||
      !replaceFile(git + "/HEAD", head) ||
      (!alternates.empty() && !replaceFile(git + "/objects/info/alternates", alternates)))
    return fault("cannot write .git");
  return {};
}

/// Sets the time of what was just written, never through a link. Gives the bytes that it takes on disk.
std::uint64_t dateBack(const std::string& tree, std::string_view path) {
  const time_t then = std::time(nullptr) - kDatedBack;
  const timespec times[2] = {{then, 0}, {then, 0}};
  const auto file = tree + "/" + std::string(path);
  ::utimensat(AT_FDCWD, file.c_str(), times, AT_SYMLINK_NOFOLLOW);
  struct stat status{};
  return ::lstat(file.c_str(), &status) == 0 ? static_cast<std::uint64_t>(status.st_blocks) * 512 : 0;
}

}  // namespace

workers::Outcome checkout(const workers::Job& job) {
  const auto commit = commitIn(job, "commit");
  if (!commit) return std::unexpected(commit.error());
  const bool update = job.request.number("update") == 1;
  // OUT keeps others away; what is in the tree has the permissions a build expects of a checkout.
  ::umask(022);
  const std::string tree = job.out + "/tree";
  const std::string directory = tree + "/.git";
  auto git = Git::create();
  if (!git) return std::unexpected(git.error());
  git->setObjects(git->directory() + "/objects", stores(job));
  const auto id = treeOf(*git, *commit);
  if (!id) return std::unexpected(id.error());

  std::string written;  // NUL-separated paths
  if (update) {
    const auto from = commitIn(job, "from");
    if (!from) return std::unexpected(from.error());
    const auto changed = changes(*git, *from, *commit, false);
    if (!changed) return std::unexpected(changed.error());
    for (const auto& change : *changed)
      if (change.status != 'D') written.append(change.path).push_back('\0');
  } else if (::mkdir(tree.c_str(), 0755) != 0 && errno != EEXIST) {
    return fault("cannot make the tree");
  }
  if (const auto made = writeGitDirectory(job, directory, *commit); !made) return std::unexpected(made.error());

  git->setWorkTree(tree);
  git->setIndex(directory + "/index");
  // `--reset -u` compares index and commit and writes only what differs; an empty index differs in everything. Git
  // writes no path through a link and none named .git.
  if (const auto read = git->output({"-c", "core.checkStat=minimal", "read-tree", "--reset", "-u", *id}); !read)
    return std::unexpected(read.error());
  if (!update) {
    const auto list = git->output({"ls-files", "-z"}, {}, limits::kPathListBytes);
    if (!list) return std::unexpected(list.error());
    written = *list;
  }
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;
  for (std::string_view rest = written; !rest.empty(); ++files)
    bytes += dateBack(tree, take(rest, '\0'));
  // Entries whose time now differs are read once and recorded as they are.
  if (const auto refreshed = git->run({.arguments = {"update-index", "-q", "--refresh"}}); !refreshed)
    return std::unexpected(refreshed.error());
  const auto differing =
      git->output({"diff-files", "--name-only", "-z", "--ignore-submodules=all"}, {}, limits::kPathListBytes);
  if (!differing) return std::unexpected(differing.error());
  Records report;
  report.add("tree", *id);
  report.add("files", files);
  report.add("bytes", bytes);
  // Not a fault: a commit with line ends that its own attributes would not write is never clean, here or anywhere.
  report.add("differing", static_cast<std::uint64_t>(std::ranges::count(*differing, '\0')));
  return report;
}

}  // namespace coffer::repository
