#include "workers/repository/candidate.hpp"

#include <algorithm>
#include <filesystem>

#include "workers/repository/stores.hpp"
#include "workers/repository/verbs.hpp"

namespace coffer::repository {
namespace {

using workers::fault;
using workers::refuse;

bool isNamePart(std::string_view text) {
  return !text.empty() && text.size() <= 1024 && !text.starts_with(' ') && !text.ends_with(' ') &&
         std::ranges::none_of(
             text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == '<' || c == '>' || c == 0x7f; });
}

/// "SECONDS +HHMM"
bool isTime(std::string_view text) {
  const auto space = text.find(' ');
  if (space == 0 || space > 12 || text.size() != space + 6) return false;
  const auto digits = [](std::string_view part) {
    return std::ranges::all_of(part, [](char c) { return c >= '0' && c <= '9'; });
  };
  return digits(text.substr(0, space)) && (text[space + 1] == '+' || text[space + 1] == '-') &&
         digits(text.substr(space + 2));
}

/// Everything in OUT/objects that is not in a pack yet, as one pack.
std::expected<void, Error> packLoose(const Git& git, const std::string& objects) {
  namespace fs = std::filesystem;
  std::string ids;
  std::vector<fs::path> directories;
  std::error_code error;
  for (const auto& directory : fs::directory_iterator(objects, error)) {
    const auto name = directory.path().filename().string();
    if (name.size() != 2) continue;
    directories.push_back(directory.path());
    for (const auto& object : fs::directory_iterator(directory.path(), error))
      ids += name + object.path().filename().string() + "\n";
  }
  if (error) return fault("cannot list the store");
  const auto packed = git.output({"pack-objects", "-q", objects + "/pack/pack"}, ids);
  if (!packed) return std::unexpected(packed.error());
  for (const auto& directory : directories)
    fs::remove_all(directory, error);
  return {};
}

/// What a commit's author wrote: everything behind its headers.
std::expected<std::string, Error> messageOf(const Git& git, const std::string& commit) {
  const auto text = git.output({"cat-file", "commit", commit}, {}, limits::kTextBytes);
  if (!text) return std::unexpected(text.error());
  const auto blank = text->find("\n\n");
  return blank == std::string::npos ? std::string() : text->substr(blank + 2);
}

struct Merged {
  std::string tree;
  std::vector<std::string> conflicts;  ///< paths; the tree is of no use then
};

/// What `theirs` changed since `from`, done to `ours`.
std::expected<Merged, Error> mergedTree(const Git& git, const std::string& from, const std::string& ours,
                                        const std::string& theirs) {
  // The merge base is named, not looked for: what the branch has lost since then must not come back with the work.
  const auto merged = git.run({.arguments = {"merge-tree", "--write-tree", "-z", "--name-only", "--no-messages",
                                             "--allow-unrelated-histories", "--merge-base=" + from, ours, theirs},
                               .output_limit = limits::kPathListBytes});
  if (!merged) return std::unexpected(merged.error());
  std::string_view rest = merged->out;
  Merged result{std::string(take(rest, '\0')), {}};
  if (merged->status > 1 || merged->cut || !isObjectId(result.tree)) return fault("git merge-tree: " + merged->err);
  if (merged->status == 0) return result;
  while (!rest.empty())
    result.conflicts.emplace_back(take(rest, '\0'));
  return result;
}

/// Whether the writer's commits may be kept: what the branch has lost must not come back beneath them.
std::expected<void, Error> checkSecond(const Git& git, const workers::Job& job, const std::string& base) {
  const auto second = commitIn(job, "second");
  if (!second) return std::unexpected(second.error());
  if (const auto tree = treeOf(git, *second); !tree) return std::unexpected(tree.error());
  const auto contains = [&](const std::string& commit, const std::string& in) -> std::expected<bool, Error> {
    const auto found = git.run({.arguments = {"merge-base", "--is-ancestor", commit, in}});
    if (!found) return std::unexpected(found.error());
    if (found->status > 1) return fault("git merge-base: " + found->err);
    return found->ok();
  };
  for (const auto word : job.request.all("known")) {
    const std::string known(word);
    if (!isObjectId(known)) return refuse(ErrorCode::InvalidArgument, "known is no commit");
    const auto here = contains(known, base);
    const auto there = here && !*here ? contains(known, *second) : here;
    if (!there) return std::unexpected(there.error());
    if (!*here && *there)
      return refuse(ErrorCode::WrongState,
                    "The branch has lost the commit " + known.substr(0, 12) +
                        " that the writer's commits build on, so they are not kept on it. Accept with --branch NAME to "
                        "land them beside it, or make the task again.");
  }
  // The project's store has commits of other branches and other times, and an agent sees them all: what it merged
  // without a difference would land without ever having been in a diff.
  const auto range = git.output({"rev-list", *second, "^" + base}, {}, limits::kPathListBytes);
  if (!range) return std::unexpected(range.error());
  auto owners = Git::create();
  if (!owners) return std::unexpected(owners.error());
  owners->setObjects(job.in + "/base/objects", {});
  const auto there =
      owners->output({"cat-file", "--batch-check=%(objectname) is there"}, *range, limits::kPathListBytes);
  if (!there) return std::unexpected(there.error());
  for (std::string_view rest = *there; !rest.empty();)
    if (const auto line = take(rest, '\n'); line.ends_with(" is there"))
      return refuse(ErrorCode::WrongState,
                    "The writer's commits bring along " + std::string(line.substr(0, 12)) +
                        ", which is not on the branch and which nobody was shown, so they are not "
                        "kept. Reply and ask for a history without it, or make the task again.");
  return {};
}

bool syncPath(const std::string& path, int flags) {
  const Fd fd(::open(path.c_str(), flags | O_CLOEXEC | O_NOFOLLOW));
  return fd && ::fsync(fd.get()) == 0;
}

}  // namespace

std::expected<std::string, Error> makeStore(const workers::Job& job) {
  const std::string objects = job.out + "/objects";
  if (::mkdir(objects.c_str(), 0700) != 0 || ::mkdir((objects + "/pack").c_str(), 0700) != 0 ||
      ::mkdir((objects + "/info").c_str(), 0700) != 0)
    return fault("cannot make the store");
  return objects;
}

std::expected<void, Error> addStore(const workers::Job& job, Records& report) {
  const std::string directory = job.out + "/objects/pack";
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error))
    names.push_back(entry.path().filename());
  if (error) return fault("cannot list the store");
  std::ranges::sort(names);
  for (const auto& name : names) {
    if (!name.ends_with(".pack") && !name.ends_with(".idx")) {
      std::filesystem::remove(directory + "/" + name, error);
      continue;
    }
    if (!syncPath(directory + "/" + name, O_RDONLY)) return fault("cannot sync the store");
    report.add("store", name);
  }
  if (!syncPath(directory, O_RDONLY | O_DIRECTORY)) return fault("cannot sync the store");
  return {};
}

std::expected<std::string, Error> writeCandidate(Git& git, const workers::Job& job, const std::string& tree,
                                                 const std::string& base, std::string message) {
  const auto name = job.request.get("author-name");
  const auto email = job.request.get("author-email");
  const auto time = job.request.get("author-time");
  if (!isNamePart(name) || !isNamePart(email) || !isTime(time))
    return refuse(ErrorCode::InvalidArgument,
                  "Your Git identity cannot stand in a commit. Set user.name and user.email (no < > or line breaks).");
  while (!message.empty() && (message.back() == '\n' || message.back() == ' '))
    message.pop_back();
  if (message.empty() || message.contains('\0') || message.size() > limits::kTextBytes)
    return refuse(ErrorCode::InvalidArgument, "The commit message is empty, too long or holds a zero byte.");
  std::string parents = "parent " + base + "\n";
  if (const auto second = job.request.get("second"); !second.empty()) parents.append("parent ").append(second) += '\n';
  std::string person;
  person.append(name).append(" <").append(email).append("> ").append(time);
  const std::string text =
      "tree " + tree + "\n" + parents + "author " + person + "\ncommitter " + person + "\n\n" + message + "\n";

  const auto written = git.output({"hash-object", "-t", "commit", "-w", "--stdin"}, text);
  if (!written) return std::unexpected(written.error());
  const std::string id = written->substr(0, 40);
  if (const auto packed = packLoose(git, job.out + "/objects"); !packed) return std::unexpected(packed.error());
  return id;
}

workers::Outcome makeCandidate(const workers::Job& job) {
  const auto commit = commitIn(job, "commit");
  const auto base = commitIn(job, "base");
  if (!commit) return std::unexpected(commit.error());
  if (!base) return std::unexpected(base.error());
  const auto objects = makeStore(job);
  if (!objects) return std::unexpected(objects.error());
  auto git = Git::create();
  if (!git) return std::unexpected(git.error());
  git->setObjects(*objects, stores(job));
  const auto base_tree = treeOf(*git, *base);
  if (!base_tree) return refuse(ErrorCode::BaseGone, "The base commit is not in the project's store.");
  if (job.request.has("second"))
    if (const auto good = checkSecond(*git, job, *base); !good) return std::unexpected(good.error());
  auto tree = treeOf(*git, *commit);
  if (tree && job.request.has("from") && job.request.get("from") != *base) {
    const auto from = commitIn(job, "from");
    if (!from) return std::unexpected(from.error());
    if (!treeOf(*git, *from)) return refuse(ErrorCode::BaseGone, "The old base is not in the project's store.");
    const auto merged = mergedTree(*git, *from, *base, *commit);
    if (!merged) return std::unexpected(merged.error());
    if (!merged->conflicts.empty()) {
      Records report;
      report.add("conflict", "These paths were changed by the work and, in another way, on the branch:" +
                                 pathLines(merged->conflicts));
      return report;
    }
    tree = merged->tree;
  }
  if (!tree) return std::unexpected(tree.error());
  std::expected<std::string, Error> message(job.request.get("message"));
  if (!job.request.has("message")) message = messageOf(*git, *commit);
  if (!message) return std::unexpected(message.error());
  const auto candidate = writeCandidate(*git, job, *tree, *base, std::move(*message));
  if (!candidate) return std::unexpected(candidate.error());
  const auto changed = changes(*git, *base, *tree, false);
  if (!changed) return std::unexpected(changed.error());
  Records report;
  report.add("candidate", *candidate);
  report.add("tree", *tree);
  report.add("changed", changed->size());
  if (*tree == *base_tree) report.add("nothing", 1);
  if (const auto added = addStore(job, report); !added) return std::unexpected(added.error());
  return report;
}

}  // namespace coffer::repository
