#include "workers/repository/candidate.hpp"
#include "workers/repository/stores.hpp"
#include "workers/repository/verbs.hpp"

namespace coffer::repository {
namespace {

using workers::fault;
using workers::refuse;

struct Lines {
  std::uint64_t inserted = 0;
  std::uint64_t deleted = 0;
};

/// Sums of `--numstat -z`; a binary file counts no lines.
Lines countLines(std::string_view text) {
  Lines lines;
  while (!text.empty()) {
    auto entry = take(text, '\0');
    const auto number = [](std::string_view field) {
      std::uint64_t value = 0;
      std::from_chars(field.data(), field.data() + field.size(), value);
      return value;
    };
    lines.inserted += number(take(entry, '\t'));
    lines.deleted += number(take(entry, '\t'));
  }
  return lines;
}

/// Changed paths that match one of the request's patterns. Git itself compares them; a renamed path counts on both
/// sides, and what stands in the place of a directory (a link, say) counts as the directory.
std::expected<std::string, Error> riskyPaths(const Git& git, const workers::Job& job, const std::string& base,
                                             const std::string& candidate) {
  std::vector<std::string> words = {
      "--no-literal-pathspecs",   "diff-tree", "-r",      "-z", "--name-only", "--no-renames",
      "--ignore-submodules=none", base,        candidate, "--"};
  const auto fixed = words.size();
  const auto add = [&words](std::string_view pattern) { words.push_back(":(glob,icase)" + std::string(pattern)); };
  constexpr std::string_view kBelow = "/**";
  for (const auto pattern : job.request.all("risky")) {
    if (pattern.empty() || pattern.front() == ':') return refuse(ErrorCode::InvalidArgument, "That is no pattern.");
    add(pattern);
    if (pattern.ends_with(kBelow)) add(pattern.substr(0, pattern.size() - kBelow.size()));
  }
  if (words.size() == fixed) return std::string{};
  return git.output(words, {}, limits::kPathListBytes);
}

}  // namespace

workers::Outcome diff(const workers::Job& job) {
  const auto base = commitIn(job, "base");
  const auto candidate = commitIn(job, "candidate");
  if (!base) return std::unexpected(base.error());
  if (!candidate) return std::unexpected(candidate.error());
  auto git = Git::create();
  if (!git) return std::unexpected(git.error());
  git->setObjects(git->directory() + "/objects", stores(job));
  for (const auto* commit : {&*base, &*candidate})
    if (const auto tree = treeOf(*git, *commit); !tree) return std::unexpected(tree.error());

  const auto changed = changes(*git, *base, *candidate, true);
  if (!changed) return std::unexpected(changed.error());
  const std::vector<std::string> common = {
      "diff-tree",        "-r", "-M", "--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=none",
      "--submodule=short"};
  const auto call = [&](std::vector<std::string> more) {
    auto words = common;
    words.insert(words.end(), more.begin(), more.end());
    words.push_back(*base);
    words.push_back(*candidate);
    return words;
  };
  const auto numbers = git->output(call({"--numstat", "-z"}), {}, limits::kPathListBytes);
  if (!numbers) return std::unexpected(numbers.error());
  const auto lines = countLines(*numbers);

  const Fd file(::open((job.out + "/diff").c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file) return fault("cannot write the diff");
  std::size_t bytes = 0;
  bool truncated = false;
  Git::Call print;
  print.arguments = call({"-p", "--full-index", "--src-prefix=a/", "--dst-prefix=b/", "--diff-algorithm=myers", "-U3"});
  print.sink = [&](std::string_view piece) {
    truncated = piece.size() > limits::kDiffBytes - bytes;
    piece = piece.substr(0, limits::kDiffBytes - bytes);
    bytes += piece.size();
    return workers::writeAll(file.get(), piece) && !truncated;
  };
  const auto printed = git->run(print);
  if (!printed) return std::unexpected(printed.error());
  if (!truncated && !printed->ok()) return fault("git diff-tree failed: " + printed->err);
  if (::fsync(file.get()) != 0) return fault("cannot write the diff");

  Records report;
  report.add("files", changed->size());
  report.add("insertions", lines.inserted);
  report.add("deletions", lines.deleted);
  report.add("bytes", bytes);
  if (truncated) report.add("truncated", 1);
  PathList paths(report, "path");
  for (const auto& change : *changed) {
    if (!paths.add(std::string(1, change.status) + " " + change.path)) break;
    if (!change.from.empty()) report.add("from", change.from);
  }
  const auto risky = riskyPaths(*git, job, *base, *candidate);
  if (!risky) return std::unexpected(risky.error());
  std::uint64_t count = 0;
  for (std::string_view rest = *risky; !rest.empty(); ++count) {
    const auto path = take(rest, '\0');
    if (count < limits::kRiskyShown) report.add("risky", path);
  }
  report.add("risky-count", count);
  return report;
}

workers::Outcome pack(const workers::Job& job) {
  const auto base = commitIn(job, "base");
  const auto candidate = commitIn(job, "candidate");
  if (!base) return std::unexpected(base.error());
  if (!candidate) return std::unexpected(candidate.error());
  auto git = Git::create();
  if (!git) return std::unexpected(git.error());
  // Git makes the pack beside its objects and renames it, which must not be across file systems: /tmp is another one
  // than /out.
  const auto store = makeStore(job);
  if (!store) return std::unexpected(store.error());
  git->setObjects(*store, stores(job));
  for (const auto* commit : {&*base, &*candidate})
    if (const auto tree = treeOf(*git, *commit); !tree) return std::unexpected(tree.error());
  const auto packed =
      git->output({.arguments = {"pack-objects", "--revs", "--delta-base-offset", "-q", job.out + "/pack"},
                   .input = *candidate + "\n^" + *base + "\n",
                   .file_limit = limits::kWorkPackBytes});
  if (!packed) return std::unexpected(packed.error());
  const std::string name = packed->substr(0, 40);
  const std::string from = job.out + "/pack-" + name;
  if (!isObjectId(name) || ::rename((from + ".pack").c_str(), (job.out + "/pack").c_str()) != 0 ||
      ::rename((from + ".idx").c_str(), (job.out + "/idx").c_str()) != 0)
    return fault("git made no pack");
  const Fd file(::open((job.out + "/pack").c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  const Fd index(::open((job.out + "/idx").c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  struct stat status{};
  if (!file || !index || ::fsync(file.get()) != 0 || ::fsync(index.get()) != 0 || ::fstat(file.get(), &status) != 0)
    return fault("cannot sync the pack");
  const auto objects = objectsInPack(file.get());
  if (!objects) return std::unexpected(objects.error());
  Records report;
  report.add("name", name);
  report.add("objects", *objects);
  report.add("bytes", static_cast<std::uint64_t>(status.st_size));
  return report;
}

}  // namespace coffer::repository
