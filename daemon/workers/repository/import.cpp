#include <algorithm>
#include <ranges>

#include "model/visible_text.hpp"
#include "workers/repository/candidate.hpp"
#include "workers/repository/object_reader.hpp"
#include "workers/repository/stores.hpp"
#include "workers/repository/tree_rules.hpp"
#include "workers/repository/verbs.hpp"

namespace coffer::repository {
namespace {

using workers::fault;
using workers::refuse;

/// What git itself once wrote, or other tools still write, and nothing can be done with: no reason to refuse a history.
constexpr std::string_view kStrict =
    "--strict=zeroPaddedFilemode=ignore,zeroPaddedDate=ignore,badTimezone=ignore,badDate=ignore,badDateOverflow=ignore,"
    "missingSpaceBeforeDate=ignore,missingSpaceBeforeEmail=ignore,missingEmail=ignore,badEmail=ignore,badName=ignore,"
    "missingNameBeforeEmail=ignore,multipleAuthors=ignore,missingTaggerEntry=ignore,badTagName=ignore,nulInCommit="
    "ignore,"
    "badFilemode=ignore,largePathname=ignore,gitmodulesParse=ignore";

/// Commits and trees that `commit` adds to what we have, as input for cat-file.
std::expected<std::string, Error> addedTrees(const Git& git, const std::string& commit,
                                             const std::vector<std::string>& have) {
  std::string revisions = commit + "\n";
  for (const auto& id : have)
    revisions += "^" + id + "\n";
  Git::Call call;
  call.arguments = {"rev-list", "--objects", "--filter=blob:none", "--no-object-names", "--stdin"};
  call.input = revisions;
  call.output_limit = limits::kSnapshotObjects * 41;
  return git.output(call);
}

struct Examined {
  std::uint64_t commits = 0;
  std::uint64_t collisions = 0;
  std::string refused;
};

std::expected<Examined, Error> examine(const Git& git, const std::string& ids, bool agent, Records& report) {
  Examined result;
  PathList collisions(report, "collision");
  ObjectReader reader(
      [&](std::string_view, std::string_view type, std::string_view bytes) {
        if (type == "commit") ++result.commits;
        if (type != "tree") return true;
        auto verdict = examineTreeObject(bytes, agent);
        for (const auto& name : verdict.collisions) {
          ++result.collisions;
          collisions.add(name);
        }
        result.refused = std::move(verdict.refused);
        return result.refused.empty();
      },
      limits::kTreeBytes);
  Git::Call call;
  call.arguments = {"cat-file", "--batch", "--buffer"};
  call.input = ids;
  call.sink = [&](std::string_view piece) { return reader.feed(piece); };
  const auto run = git.run(call);
  if (!run) return std::unexpected(run.error());
  if (result.refused.empty() && (!run->ok() || !reader.whole()))
    result.refused = "a tree or commit is missing or too large";
  return result;
}

/// The subjects of what the writer committed, newest kept, oldest first.
std::expected<void, Error> addSubjects(const Git& git, const std::string& commit, const std::string& base,
                                       Records& report) {
  const auto log = git.output({"log", "-z", "--format=%s", "--no-show-signature", "--no-mailmap", "--no-notes",
                               "--max-count=" + std::to_string(limits::kSubjectsShown), base + ".." + commit},
                              {}, limits::kPathListBytes);
  if (!log) return std::unexpected(log.error());
  std::vector<std::string_view> subjects;
  std::string_view rest = *log;
  while (!rest.empty())
    subjects.push_back(take(rest, '\0'));
  for (const auto subject : subjects | std::views::reverse)
    // It becomes a line of the candidate's message, which terminals show as it is.
    report.add("subject", model::shortened(model::visibleText(subject), limits::kSubjectBytes));
  return {};
}

/// The newest of the request's bases that the commit has in its history; the first when it has none of them.
std::expected<std::string, Error> baseOf(const Git& git, const workers::Job& job, const std::string& commit) {
  const auto bases = job.request.all("base");
  for (const auto base : bases)
    if (!isObjectId(base)) return refuse(ErrorCode::InvalidArgument, "The request's base is no commit id.");
  for (const auto base : bases | std::views::drop(1) | std::views::reverse) {
    const auto known =
        git.run({.arguments = {"merge-base", "--is-ancestor", std::string(base), commit}, .output_limit = 4096});
    if (!known) return std::unexpected(known.error());
    if (known->ok()) return std::string(base);
  }
  return std::string(bases.front());
}

std::expected<void, Error> compareWithBase(Git& git, const workers::Job& job, const std::string& commit,
                                           const std::string& tree, Records& report) {
  const auto base = baseOf(git, job, commit);
  if (!base) return std::unexpected(base.error());
  report.add("base", *base);
  const auto base_tree = treeOf(git, *base);
  if (!base_tree) return refuse(ErrorCode::BaseGone, "The base commit is not in the project's store.");
  const auto changed = changes(git, *base, commit, false);
  if (!changed) return std::unexpected(changed.error());
  for (const auto& change : *changed)
    if (change.new_mode == "160000")
      return refuse(ErrorCode::RepositoryUnsupported, "The work adds or moves a submodule at " +
                                                          workers::printable(change.path) +
                                                          "; a commit of another repository cannot be checked here.");
  report.add("changed", changed->size());
  if (tree == *base_tree) report.add("nothing", 1);
  if (const auto told = addSubjects(git, commit, *base, report); !told) return told;
  if (!job.request.has("message")) return {};
  const auto candidate = writeCandidate(git, job, tree, *base, std::string(job.request.get("message")));
  if (!candidate) return std::unexpected(candidate.error());
  report.add("candidate", *candidate);
  return {};
}

}  // namespace

workers::Outcome importObjects(const workers::Job& job) {
  const auto commit = commitIn(job, "commit");
  if (!commit) return std::unexpected(commit.error());
  const bool agent = job.request.number("agent") == 1;
  std::vector<std::string> have;
  for (const auto id : job.request.all("have"))
    if (isObjectId(id)) have.emplace_back(id);

  const std::string path = job.in + "/pack/pack";
  const Fd pack(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat status{};
  if (!pack || ::fstat(pack.get(), &status) != 0 || !S_ISREG(status.st_mode)) return fault("there is no pack");
  const auto count = objectsInPack(pack.get());
  if (!count) return refuse(ErrorCode::RepositoryUnsupported, "The objects are not a Git pack.");
  const std::uint64_t bytes_limit = agent ? limits::kWorkPackBytes : limits::kSnapshotPackBytes;
  if (static_cast<std::uint64_t>(status.st_size) > bytes_limit ||
      *count > (agent ? limits::kWorkObjects : limits::kSnapshotObjects))
    return refuse(ErrorCode::TooLarge,
                  "The commits are larger than the limit of this machine: " + std::to_string(*count) + " objects, " +
                      std::to_string(status.st_size) + " bytes.");

  const auto objects = makeStore(job);
  if (!objects) return std::unexpected(objects.error());
  auto git = Git::create();
  if (!git) return std::unexpected(git.error());
  git->setObjects(*objects, stores(job));
  if (*count > 0) {
    Git::Call call;
    call.arguments = {"index-pack", std::string(kStrict), "--fix-thin",
                      "--stdin",    "--threads=1",        "--max-input-size=" + std::to_string(bytes_limit)};
    call.stdin_fd = pack.get();
    call.file_limit = bytes_limit * 2;
    const auto indexed = git->run(call);
    if (!indexed) return std::unexpected(indexed.error());
    if (!indexed->ok()) return refuse(ErrorCode::RepositoryUnsupported, "The commits are not valid: " + indexed->err);
  }

  const auto tree = treeOf(*git, *commit);
  if (!tree) return std::unexpected(tree.error());
  std::erase_if(have, [&](const std::string& id) { return !treeOf(*git, id); });
  // Everything the commit needs is here: the walk reads every tree and asks for every blob.
  std::string revisions = *commit + "\n";
  for (const auto& id : have)
    revisions += "^" + id + "\n";
  Git::Call walk;
  walk.arguments = {"rev-list", "--objects", "--quiet", "--stdin"};
  walk.input = revisions;
  const auto connected = git->run(walk);
  if (!connected) return std::unexpected(connected.error());
  if (!connected->ok())
    return refuse(ErrorCode::RepositoryUnsupported, "The commits are not complete: " + connected->err);

  Records report;
  report.add("commit", *commit);
  report.add("tree", *tree);
  const auto ids = addedTrees(*git, *commit, have);
  if (!ids) return std::unexpected(ids.error());
  const auto examined = examine(*git, *ids, agent, report);
  if (!examined) return std::unexpected(examined.error());
  if (!examined->refused.empty())
    return refuse(ErrorCode::RepositoryUnsupported, "The commits are not taken: " + examined->refused + ".");
  report.add("commits", examined->commits);
  report.add("collisions", examined->collisions);
  if (job.request.has("base"))
    if (const auto compared = compareWithBase(*git, job, *commit, *tree, report); !compared)
      return std::unexpected(compared.error());
  if (const auto added = addStore(job, report); !added) return std::unexpected(added.error());
  return report;
}

}  // namespace coffer::repository
