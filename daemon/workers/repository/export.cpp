#include <algorithm>
#include <cerrno>

#include "workers/repository/source.hpp"
#include "workers/repository/stores.hpp"
#include "workers/repository/verbs.hpp"

namespace coffer::repository {
namespace {

using workers::fault;
using workers::refuse;

/// Which of the ids are commits that are there.
std::expected<std::vector<std::string>, Error> present(const Git& git, const std::vector<std::string>& ids) {
  std::string input;
  for (const auto& id : ids)
    input += id + "\n";
  const auto text = git.output({"cat-file", "--batch-check=%(objectname) %(objecttype)"}, input, limits::kReportBytes);
  if (!text) return std::unexpected(text.error());
  std::vector<std::string> result;
  std::string_view rest = *text;
  while (!rest.empty()) {
    const auto line = take(rest, '\n');
    if (line.ends_with(" commit")) result.emplace_back(line.substr(0, 40));
  }
  return result;
}

/// What nobody could land in is no place to begin. The mount is read-only, which is another answer than that of the
/// permissions.
std::expected<void, Error> checkWritable(const Source& source) {
  for (const auto& [directory, name] :
       {std::pair{source.own(), "."}, std::pair{source.common(), "objects"}, std::pair{source.common(), "objects/pack"},
        std::pair{source.common(), "refs/heads"}}) {
    if (::faccessat(directory, name, W_OK, AT_SYMLINK_NOFOLLOW) == 0 || (errno != EACCES && errno != EPERM)) continue;
    struct stat status{};
    const bool foreign = ::fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && status.st_uid != ::geteuid();
    const auto where = std::string(".git") + (*name == '.' ? "" : "/") + (*name == '.' ? "" : name);
    return refuse(ErrorCode::AccessDenied,
                  "You may not write in the repository's " + where + ", so no work could ever land there. " +
                      (foreign ? "It belongs to somebody else: git clone it, and add the clone."
                               : "Give yourself the right (chmod -R u+w .git), then try again."));
  }
  return {};
}

/// Submodules are told, LFS is refused: its files' bytes are not among the objects.
std::expected<std::uint64_t, Error> examineTree(const Git& git, const std::string& commit) {
  const auto list = git.output({"ls-tree", "-r", "-z", "--full-tree", commit}, {}, limits::kPathListBytes);
  if (!list) return std::unexpected(list.error());
  std::uint64_t submodules = 0;
  std::string_view rest = *list;
  while (!rest.empty()) {
    auto entry = take(rest, '\0');
    auto fields = take(entry, '\t');
    if (fields.starts_with("160000 ")) ++submodules;
    if (entry != ".gitattributes" && !entry.ends_with("/.gitattributes")) continue;
    if (!fields.starts_with("100")) continue;
    const std::string id(fields.substr(fields.size() - 40));
    Git::Call call;
    call.arguments = {"cat-file", "blob", id};
    call.output_limit = limits::kAttributesBytes;
    const auto attributes = git.run(call);
    if (!attributes) return std::unexpected(attributes.error());
    if (attributes->out.contains("filter=lfs"))
      return refuse(ErrorCode::RepositoryUnsupported, "The repository keeps files in Git LFS (" +
                                                          workers::printable(entry) +
                                                          "), whose content is not among its objects, so no sandbox "
                                                          "would have it. Take them out of LFS (git lfs migrate "
                                                          "export), or work on a branch without them.");
  }
  return submodules;
}

/// Paths that a person has and HEAD has not, by a copy of the index and without the repository's configuration: no
/// filter and no fsmonitor can run.
std::expected<void, Error> addStatus(Git& git, const Source& source, const std::string& commit, Records& report) {
  const auto index = readBeneath(source.own(), "index", limits::kIndexBytes);
  const std::string copy = git.directory() + "/index";
  const auto write = [](const std::string& path, std::string_view text) {
    const Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    return file && workers::writeAll(file.get(), text);
  };
  if ((index && !write(copy, *index)) || !write(git.directory() + "/HEAD", commit + "\n"))
    return fault("cannot copy the index");
  // What the person excludes for themselves is text with patterns, nothing more.
  if (const auto exclude = readBeneath(source.common(), "info/exclude", limits::kRefBytes)) {
    ::mkdir((git.directory() + "/info").c_str(), 0700);
    if (!write(git.directory() + "/info/exclude", *exclude)) return fault("cannot copy info/exclude");
  }
  git.setIndex(copy);
  git.setWorkTree(source.path());
  const auto status = git.run({.arguments = {"status", "--porcelain=v1", "-z", "--no-renames",
                                             "--untracked-files=normal", "--ignore-submodules=all"},
                               .output_limit = limits::kPathListBytes});
  if (!status) return std::unexpected(status.error());
  if (!status->ok()) {
    report.add("status", "unknown");
    return {};
  }
  std::uint64_t count = 0;
  PathList paths(report, "dirty");
  std::string_view rest = status->out;
  while (!rest.empty()) {
    const auto entry = take(rest, '\0');
    if (entry.size() < 4) continue;
    ++count;
    paths.add(entry.substr(3));
  }
  report.add("dirty-count", count);
  return {};
}

}  // namespace

workers::Outcome exportObjects(const workers::Job& job) {
  const bool agent = job.request.number("agent") == 1;
  const std::string_view ref = job.request.has("ref") ? job.request.get("ref") : "HEAD";
  if (ref != "HEAD" && !isBranchName(ref)) return refuse(ErrorCode::InvalidArgument, "That is no branch name.");
  const auto source = Source::open(job.in + "/source", agent);
  if (!source) return std::unexpected(source.error());
  const auto head = source->resolve(ref);
  if (!head) return std::unexpected(head.error());

  if (!agent)
    if (const auto writable = checkWritable(*source); !writable) return std::unexpected(writable.error());

  auto git = Git::create();
  if (!git) return std::unexpected(git.error());
  auto lenders = stores(job);
  const std::string view = git->directory() + "/view";
  if (const auto made = source->viewObjects(view); !made) return std::unexpected(made.error());
  lenders.insert(lenders.begin(), view);
  git->setObjects(git->directory() + "/objects", lenders);

  std::vector<std::string> ids = {head->commit};
  for (const auto have : job.request.all("have"))
    if (isObjectId(have)) ids.emplace_back(have);
  const auto known = present(*git, ids);
  if (!known) return std::unexpected(known.error());
  if (std::ranges::find(*known, head->commit) == known->end())
    return refuse(agent ? ErrorCode::NoCommit : ErrorCode::RepositoryUnsupported,
                  "The commit " + head->commit +
                      " is not among the repository's objects, so it is damaged; git fsck says what else is missing.");

  Records report;
  report.add("commit", head->commit);
  if (!head->branch.empty()) report.add("branch", head->branch);

  std::string revisions = head->commit + "\n";
  for (std::size_t i = 1; i < ids.size(); ++i)
    if (std::ranges::find(*known, ids[i]) != known->end()) revisions += "^" + ids[i] + "\n";
  const Fd pack(::open((job.out + "/pack").c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!pack) return fault("cannot write the pack");
  const auto packed =
      git->output({.arguments = {"pack-objects", "--revs", "--thin", "--stdout", "--delta-base-offset", "-q"},
                   .input = revisions,
                   .stdout_fd = pack.get(),
                   .file_limit = agent ? limits::kWorkPackBytes : limits::kSnapshotPackBytes});
  if (!packed) {
    if (packed.error().code != ErrorCode::Internal) return std::unexpected(packed.error());
    // What git cannot read of somebody else's objects is theirs to know, not a fault of ours.
    return refuse(
        ErrorCode::RepositoryUnsupported,
        "The repository's objects cannot be read, so it is damaged (git fsck says more): " + packed.error().message);
  }
  const auto objects = objectsInPack(pack.get());
  if (!objects) return std::unexpected(objects.error());
  struct stat status{};
  if (::fsync(pack.get()) != 0 || ::fstat(pack.get(), &status) != 0) return fault("cannot write the pack");
  report.add("objects", *objects);
  report.add("bytes", static_cast<std::uint64_t>(status.st_size));
  if (agent) return report;

  const auto submodules = examineTree(*git, head->commit);
  if (!submodules) return std::unexpected(submodules.error());
  report.add("submodules", *submodules);
  if (job.request.number("status") == 1 && ref == "HEAD")
    if (const auto told = addStatus(*git, *source, head->commit, report); !told) return std::unexpected(told.error());
  return report;
}

}  // namespace coffer::repository
