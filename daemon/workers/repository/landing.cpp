#include "workers/repository/landing.hpp"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <set>

#include "workers/repository/notes.hpp"
#include "workers/repository/write_failure.hpp"

namespace coffer::repository {
namespace {

using workers::fault;
using workers::refuse;

constexpr std::string_view kHeadPrefix = "ref: ";
constexpr auto kIndexAnew = " Make it anew (rm -f .git/index; git reset), then accept again.";

/// What putting back may need beside another index: a few directories, a branch, lines of its log.
constexpr off_t kReserveBytes = 1024 * 1024;

bool existsIn(int directory, const std::string& path) {
  return static_cast<bool>(openBeneath(directory, path, O_PATH));
}

bool copyFile(int from, int to) {
  char buffer[65536];
  for (;;) {
    const auto got = ::read(from, buffer, sizeof buffer);
    if (got == 0) return true;
    if (got < 0 || !workers::writeAll(to, std::string_view(buffer, static_cast<std::size_t>(got)))) return false;
  }
}

std::string_view firstLine(std::string_view text) {
  auto line = text.substr(0, text.find('\n'));
  while (line.ends_with(' ') || line.ends_with('\r'))
    line.remove_suffix(1);
  return line;
}

}  // namespace

Landing::Landing(const workers::Job& job, Source source, Git git)
    : job_(job), source_(std::move(source)), git_(std::move(git)), writes_(job.stopAfter) {}

std::string Landing::mark() const {
  return "coffer-land " + std::string(job_.request.get("step")) + " " + move_.old_id + " " + move_.new_id + " " +
         move_.branch + "\n";
}

Landing::Done Landing::readRequest() {
  const auto& request = job_.request;
  const auto step = request.get("step");
  const auto invalid = [](const char* what) {
    return refuse(ErrorCode::InvalidArgument, std::string("The landing's ") + what + " is not valid.");
  };
  if (step.empty() || step.size() > 64 ||
      !std::ranges::all_of(step, [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; }))
    return invalid("step");
  move_.branch = request.get("branch");
  move_.old_id = request.get("old");
  move_.new_id = request.get("new");
  move_.who = request.get("who");
  move_.when = request.get("when");
  move_.message = "coffer: landed";
  pack_ = request.get("name");
  if (!isBranchName(move_.branch)) return invalid("branch");
  if (!isObjectId(move_.old_id) || !isObjectId(move_.new_id) || !isObjectId(pack_) || move_.new_id == kZeroId)
    return invalid("commit");
  for (const auto* text : {&move_.who, &move_.when})
    if (text->empty() || std::ranges::any_of(*text, [](char c) { return static_cast<unsigned char>(c) < 0x20; }))
      return invalid("person");
  if (request.get("note").size() > limits::kRefBytes) return invalid("note");
  const std::string name = "coffer-land-" + std::string(step);
  stage_ = source_.ownPath() + "/" + name;
  ref_stage_ = source_.commonPath() + "/" + name;
  spare_ = source_.path() + "/." + name;
  return {};
}

Landing::Done Landing::readState() {
  const int common = source_.common();
  const int own = source_.own();
  for (const auto* name : {"objects/pack", "refs/heads"})
    if (!openBeneath(common, name, O_PATH | O_DIRECTORY))
      return refuse(ErrorCode::RepositoryUnsupported,
                    std::string("The repository's ") + name + " is no plain directory.");
  const auto head = readBeneath(own, "HEAD", limits::kRefBytes);
  if (!head) return refuse(ErrorCode::RepositoryUnsupported, "The repository's HEAD is no plain file.");
  checked_out_ = firstLine(*head) == std::string(kHeadPrefix) + move_.branch;
  move_.head = checked_out_;
  if (const auto text = readBeneath(common, move_.branch, limits::kRefBytes); text && text->starts_with(kHeadPrefix))
    return refuse(ErrorCode::RepositoryUnsupported, "The branch " + move_.branch + " is a symbolic ref.");
  const std::string stage = "coffer-land-" + std::string(job_.request.get("step"));
  resumed_ = existsIn(own, stage) || existsIn(common, stage);
  ours_ = readBeneath(own, "index.lock", limits::kRefBytes) == mark();
  const auto current = source_.branch(move_.branch);
  if (!current) return std::unexpected(current.error());
  moved_ = current->value_or("") == move_.new_id;
  // A branch that is gone by now is made anew.
  if (!*current && job_.request.number("create") == 1) move_.old_id = kZeroId;
  create_ = move_.old_id == kZeroId;
  touched_ = ours_;
  return {};
}

Landing::Done Landing::checkBranch() {
  if (moved_) return {};
  if (const auto done = elsewhere(source_, move_.branch); !done) return done;
  if (ours_ && !checked_out_)
    return refuse(ErrorCode::WrongState,
                  "The checkout left " + move_.branch + " in the middle of the landing; its files are as they were.");
  const auto current = source_.branch(move_.branch);
  if (!current) return std::unexpected(current.error());
  if (create_) {
    if (*current) return refuse(ErrorCode::NameTaken, "There is a branch " + move_.branch + " already.");
    if (checked_out_)
      return refuse(ErrorCode::WrongState, "The branch " + move_.branch + " is checked out and has no commit.");
    if (const auto other = inTheWay(source_, move_.branch); !other.empty())
      return refuse(ErrorCode::NameTaken, "There is a branch " + workers::printable(other) + ", beside which " +
                                              move_.branch + " cannot be.");
  } else if (current->value_or("") != move_.old_id) {
    return refuse(ErrorCode::Stale,
                  "The branch " + move_.branch + " has moved since the work was accepted; nothing was changed.");
  }
  return {};
}

Landing::Done Landing::viewObjects() {
  const std::string view = git_.directory() + "/view";
  if (const auto made = source_.viewObjects(view); !made) return made;
  for (const auto& [from, to] : {std::pair{"/pack/pack", ".pack"}, std::pair{"/pack/idx", ".idx"}}) {
    std::string place = view;
    place.append("/pack/pack-").append(pack_).append(to);
    if (::symlink((job_.in + from).c_str(), place.c_str()) != 0 && errno != EEXIST)
      return fault("cannot show git the pack");
  }
  git_.setObjects(git_.directory() + "/objects", {view});
  return {};
}

std::expected<bool, Error> Landing::isOvertaken() const {
  const auto current = source_.branch(move_.branch);
  if (!current) return std::unexpected(current.error());
  if (!*current || **current == move_.new_id) return false;
  const auto contained = git_.run({.arguments = {"merge-base", "--is-ancestor", move_.new_id, **current}});
  if (!contained) return std::unexpected(contained.error());
  return contained->ok();
}

Landing::Done Landing::checkObjects() {
  const auto tree = treeOf(git_, move_.new_id);
  if (!tree) return std::unexpected(tree.error());
  std::string revisions = move_.new_id + "\n";
  if (!create_) {
    if (const auto old = treeOf(git_, move_.old_id); !old)
      return refuse(old.error().code == ErrorCode::NoCommit ? ErrorCode::BaseGone : old.error().code,
                    "The commit " + move_.old_id + ", at which " + move_.branch +
                        " stands, is no longer among the repository's objects (git fsck says what is missing). Fetch "
                        "them again, or set the branch to a commit that is there; then accept again.");
    revisions += "^" + move_.old_id + "\n";
  }
  const auto connected = git_.run({.arguments = {"rev-list", "--objects", "--quiet", "--stdin"}, .input = revisions});
  if (!connected) return std::unexpected(connected.error());
  if (!connected->ok())
    return refuse(ErrorCode::BaseGone,
                  "Objects that the work stands on are no longer in the repository: " + connected->err +
                      ". Fetch them again; or accept without --branch, which puts the work on top of what the branch "
                      "has now.");
  if (create_ || (!checked_out_ && !ours_)) return {};
  auto changed = changes(git_, move_.old_id, move_.new_id, false);
  if (!changed) return std::unexpected(changed.error());
  changes_ = std::move(*changed);
  if (changes_.size() > limits::kLandedPaths)
    return refuse(ErrorCode::Limit, "The landing changes more paths than this machine allows.");
  const auto spare = splitPath(spare_).second;
  for (const auto& change : changes_)
    if (std::string_view(change.path).substr(0, change.path.find('/')) == spare)
      return refuse(ErrorCode::RepositoryUnsupported, "The landing changes the path it writes by: " + change.path);
  for (const auto& change : changes_)
    if (change.old_mode == "160000" || change.new_mode == "160000")
      return refuse(ErrorCode::RepositoryUnsupported,
                    "The landing changes the submodule " + workers::printable(change.path) + ".");
  return {};
}

Landing::Done Landing::install(const std::string& from, const std::string& name) {
  const Fd packs = openBeneath(source_.common(), "objects/pack", O_RDONLY | O_DIRECTORY);
  if (::faccessat(packs.get(), name.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0) return {};
  const Fd in(::open(from.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  const std::string temporary = "tmp_coffer_" + std::string(job_.request.get("step"));
  ::unlinkat(packs.get(), temporary.c_str(), 0);
  writes_.next();
  const Fd out(::openat(packs.get(), temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!in) return fault("there is no pack");
  if (!out || !copyFile(in.get(), out.get()) || ::fchmod(out.get(), 0444) != 0 || ::fsync(out.get()) != 0) {
    const int number = errno;
    ::unlinkat(packs.get(), temporary.c_str(), 0);
    errno = number;
    return cannot("write its objects to the repository", ErrorCode::AccessDenied);
  }
  writes_.next();
  if (::renameat(packs.get(), temporary.c_str(), packs.get(), name.c_str()) != 0 || ::fsync(packs.get()) != 0)
    return cannot("name the pack");
  return {};
}

Landing::Done Landing::installObjects() {
  // git finds a pack by its index, so that comes last.
  if (const auto done = install(job_.in + "/pack/pack", "pack-" + pack_ + ".pack"); !done) return done;
  return install(job_.in + "/pack/idx", "pack-" + pack_ + ".idx");
}

Landing::Done Landing::stageSide(Side side) {
  const std::string place = stage_ + (side == Side::Old ? "/old" : "/new");
  if (::mkdir(place.c_str(), 0700) != 0) return cannot("make a staging directory");
  const std::string index = git_.directory() + (side == Side::Old ? "/index-old" : "/index-new");
  git_.setIndex(index);
  if (const auto read = git_.output({"read-tree", (side == Side::Old ? move_.old_id : move_.new_id) + "^{tree}"});
      !read)
    return std::unexpected(read.error());
  std::string paths;
  for (const auto& change : changes_)
    if (WorkTree::present(change, side)) paths.append(change.path).push_back('\0');
  git_.setWorkTree(place);
  const auto written = git_.output({"checkout-index", "-q", "-z", "--stdin"}, paths);
  git_.setWorkTree({});
  git_.setIndex({});
  if (written) return {};
  // git says that it could not write a file, and not why.
  if (const auto room = reserve(); !room && room.error().code == ErrorCode::NoSpace)
    return noSpace("cannot write its files");
  return std::unexpected(written.error());
}

// Once something is changed there has to be room to change it back.
Landing::Done Landing::reserve() {
  struct stat status{};
  const auto index = ::fstatat(source_.own(), "index", &status, AT_SYMLINK_NOFOLLOW) == 0 ? status.st_size : 0;
  const Fd file(::open((stage_ + "/room").c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file) return cannot("make a staging directory");
  if (::fallocate(file.get(), 0, 0, 2 * index + kReserveBytes) != 0 && isFull(errno))
    return cannot("be sure that it could be put back");
  return {};
}

void Landing::release() const { ::unlink((stage_ + "/room").c_str()); }

Landing::Done Landing::makeStage() {
  struct stat status{};
  if (!resumed_ && ::lstat(spare_.c_str(), &status) == 0)
    return refuse(ErrorCode::WrongState,
                  "There is something where the landing would write: " + splitPath(spare_).second + "; move it away.");
  std::error_code error;
  std::filesystem::remove_all(stage_, error);
  std::filesystem::remove_all(ref_stage_, error);
  writes_.next();
  if (::mkdir(stage_.c_str(), 0700) != 0 || (source_.isLinked() && ::mkdir(ref_stage_.c_str(), 0700) != 0))
    return cannot("write to the repository's .git", ErrorCode::AccessDenied);
  if (!checked_out_ && !ours_) return {};
  if (const auto done = stageSide(Side::Old); !done) return done;
  if (const auto done = stageSide(Side::New); !done) return done;
  return reserve();
}

Landing::Done Landing::lock() {
  if (ours_) {
    locked_ = true;
    return {};
  }
  const Fd stage(::open(stage_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  const Fd file(::openat(stage.get(), "lock", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file || !workers::writeAll(file.get(), mark()) || ::fsync(file.get()) != 0) return cannot("write its lock");
  writes_.next();
  if (::linkat(stage.get(), "lock", source_.own(), "index.lock", 0) != 0) {
    if (errno != EEXIST) return cannot("lock the index", ErrorCode::AccessDenied);
    return refuse(
        ErrorCode::Busy,
        "Another git process holds .git/index.lock; accept again when it has ended. If none runs, it was left "
        "by one that died: remove the file.");
  }
  locked_ = true;
  return {};
}

Landing::Done Landing::checkFiles() {
  for (const auto* name : {"MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply"})
    if (existsIn(source_.own(), name))
      return refuse(ErrorCode::WrongState, "A merge or rebase is going on in the repository (" + std::string(name) +
                                               "). End it or take it back (git status says how), then accept again.");
  // The index: every landed path must be as the old commit has it (or, in a run after a kill, as the new one has it).
  const std::string index = git_.directory() + "/index-now";
  const auto text = readBeneath(source_.own(), "index", limits::kIndexBytes);
  if (!text)
    return refuse(ErrorCode::RepositoryUnsupported,
                  std::string("The repository's index is missing, no plain file, or too large.") + kIndexAnew);
  {
    ::unlink(index.c_str());
    const Fd file(::open(index.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!file || !workers::writeAll(file.get(), *text)) return fault("cannot copy the index");
  }
  git_.setIndex(index);
  const auto list = git_.run({.arguments = {"ls-files", "-s", "-z"}, .output_limit = limits::kPathListBytes});
  git_.setIndex({});
  if (!list) return std::unexpected(list.error());
  if (!list->ok())
    return refuse(ErrorCode::RepositoryUnsupported, "The repository's index cannot be read: " + list->err + kIndexAnew);
  std::map<std::string_view, std::vector<std::string_view>> entries;
  for (std::string_view rest = list->out; !rest.empty();) {
    auto path = take(rest, '\0');
    const auto fields = take(path, '\t');
    entries[path].push_back(fields);
  }
  WorkTree tree(source_.root(), stage_, spare_, changes_, writes_);
  std::vector<std::string> dirty;
  for (const auto& change : changes_) {
    const auto found = entries.find(change.path);
    const auto isIndex = [&](Side side) {
      if (!WorkTree::present(change, side)) return found == entries.end();
      const auto& wanted = side == Side::Old ? change.old_mode + " " + change.old_id + " 0"
                                             : change.new_mode + " " + change.new_id + " 0";
      return found != entries.end() && found->second.size() == 1 && found->second.front() == wanted;
    };
    const bool index_good = isIndex(Side::Old) || (ours_ && isIndex(Side::New));
    const bool file_good = tree.is(change, Side::Old) || (ours_ && tree.is(change, Side::New));
    if (!index_good || !file_good) dirty.push_back(change.path);
  }
  if (dirty.empty()) return {};
  return refuse(
      ErrorCode::Dirty,
      "These paths have changes of yours that are not committed, or stand in the way; commit, stash or move them:" +
          pathLines(dirty));
}

Landing::Done Landing::switchIndex(const std::string& from, const std::string& to) {
  const auto text = readBeneath(source_.own(), "index", limits::kIndexBytes);
  if (!text)
    return refuse(ErrorCode::RepositoryUnsupported,
                  std::string("The repository's index is missing, no plain file, or too large.") + kIndexAnew);
  const std::string index = git_.directory() + "/index-next";
  ::unlink(index.c_str());
  {
    const Fd file(::open(index.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!file || !workers::writeAll(file.get(), *text)) return fault("cannot copy the index");
  }
  git_.setIndex(index);
  git_.setWorkTree(source_.path());
  const auto read = git_.run({.arguments = {"read-tree", "-i", "-m", from, to}});
  const auto refreshed = git_.run({.arguments = {"update-index", "-q", "--refresh"}});
  git_.setIndex({});
  git_.setWorkTree({});
  if (!read) return std::unexpected(read.error());
  if (!refreshed) return std::unexpected(refreshed.error());
  if (!read->ok()) return refuse(ErrorCode::Dirty, "The index has changes that the landing would lose: " + read->err);
  const std::string next = stage_ + "/index";
  ::unlink(next.c_str());
  const Fd now = openBeneath(source_.own(), "index", O_RDONLY);
  const Fd in(::open(index.c_str(), O_RDONLY | O_CLOEXEC));
  const Fd out(::open(next.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  struct stat status{};
  if (!now || !in || !out || ::fstat(now.get(), &status) != 0 || !copyFile(in.get(), out.get()) ||
      ::fchmod(out.get(), status.st_mode & 0777U) != 0 || ::fsync(out.get()) != 0)
    return cannot("write the index");
  writes_.next();
  if (::rename(next.c_str(), (source_.ownPath() + "/index").c_str()) != 0) return cannot("replace the index");
  return {};
}

Landing::Done Landing::landFiles() {
  touched_ = true;
  WorkTree tree(source_.root(), stage_, spare_, changes_, writes_);
  if (const auto done = tree.bring(Side::New); !done) return done;
  return switchIndex(move_.old_id, move_.new_id);
}

std::unexpected<Error> Landing::putBack(Error error) {
  release();
  if (touched_) {
    // Only what is as we left it is put back: an edit made since then is the person's.
    std::vector<Change> ours;
    WorkTree all(source_.root(), stage_, spare_, changes_, writes_);
    for (const auto& change : changes_)
      if (all.is(change, Side::New) && !all.is(change, Side::Old)) ours.push_back(change);
    WorkTree tree(source_.root(), stage_, spare_, ours, writes_);
    if (const auto done = tree.bring(Side::Old); !done) return std::unexpected(done.error());
    if (const auto done = switchIndex(move_.new_id, move_.old_id);
        !done && (done.error().code == ErrorCode::Internal || done.error().code == ErrorCode::NoSpace))
      return std::unexpected(done.error());
  }
  cleanUp();
  return std::unexpected(std::move(error));
}

Landing::Done Landing::note() {
  const std::string text(job_.request.get("note"));
  if (text.empty()) return {};
  const auto current = source_.branch(kNotesRef);
  if (!current) return std::unexpected(current.error());
  const auto made = addNote(git_, current->value_or(""), {move_.new_id, text, move_.who, move_.when});
  if (!made) return std::unexpected(made.error());
  if (made->empty()) return {};
  const auto revisions = *made + "\n" + (*current ? "^" + **current + "\n" : "");
  const auto packed = git_.output({"pack-objects", "--revs", "-q", git_.directory() + "/note"}, revisions);
  if (!packed) return std::unexpected(packed.error());
  const auto pack = packed->substr(0, 40);
  for (const auto* end : {".pack", ".idx"}) {
    std::string from = git_.directory();
    from.append("/note-").append(pack).append(end);
    if (const auto done = install(from, "pack-" + pack + end); !done) return done;
  }
  notes_ = move_;
  notes_.branch = kNotesRef;
  notes_.old_id = current->value_or(std::string(kZeroId));
  notes_.new_id = *made;
  notes_.message = "coffer: noted";
  notes_.head = false;
  if (::mkdir(ref_stage_.c_str(), 0700) != 0 && errno != EEXIST) return fault("cannot make a staging directory");
  return notes_.run(source_, ref_stage_, resumed_, writes_);
}

void Landing::noteTo(Records& report) {
  if (const auto done = note(); !done) report.add("not-noted", done.error().message);
}

workers::Outcome Landing::again(Records report) {
  noteTo(report);
  // The branch was the last thing to be moved: whatever differs since then is the person's.
  locked_ = ours_;
  cleanUp();
  report.add("again", 1);
  return report;
}

void Landing::cleanUp() {
  writes_.next();
  if (resumed_) move_.removeLock(source_);
  if (resumed_ && !notes_.branch.empty()) notes_.removeLock(source_);
  writes_.next();
  if (locked_) ::unlinkat(source_.own(), "index.lock", 0);
  writes_.next();
  std::error_code ignored;
  if (resumed_ || touched_) ::unlink(spare_.c_str());
  std::filesystem::remove_all(stage_, ignored);
  std::filesystem::remove_all(ref_stage_, ignored);
}

workers::Outcome Landing::run() {
  if (const auto done = readRequest(); !done) return std::unexpected(done.error());
  if (const auto done = readState(); !done) return std::unexpected(done.error());
  Records report;
  report.add("landed", move_.new_id);
  report.add("branch", move_.branch);
  report.add("checked-out", checked_out_ ? 1U : 0U);
  if (const auto done = viewObjects(); !done) return std::unexpected(done.error());
  if (moved_ && !ours_) return again(std::move(report));
  const auto overtaken = isOvertaken();
  if (!overtaken) return std::unexpected(overtaken.error());
  if (*overtaken) return again(std::move(report));
  const auto allowed = checkBranch();
  if (!allowed && !ours_) {
    if (resumed_) cleanUp();
    return std::unexpected(allowed.error());
  }
  if (const auto done = checkObjects(); !done) return std::unexpected(done.error());
  if (const auto done = makeStage(); !done) {
    // What an earlier run left half done needs its lock until it is finished or put back.
    if (!ours_) cleanUp();
    return std::unexpected(done.error());
  }
  if (checked_out_ || ours_) {
    if (const auto done = lock(); !done) return putBack(done.error());
    if (!allowed) return putBack(allowed.error());
    const auto clean = checkFiles();
    if (!clean && !moved_) return putBack(clean.error());
    if (const auto done = installObjects(); !done && !ours_) return putBack(done.error());
    // A branch that has moved was the last act: whatever differs since then is the person's.
    if (clean)
      if (const auto done = landFiles(); !done) return moved_ ? std::unexpected(done.error()) : putBack(done.error());
  } else if (const auto done = installObjects(); !done) {
    return putBack(done.error());
  }
  if (source_.isLinked()) ::syncfs(source_.root());
  ::syncfs(source_.common());
  if (const auto done = move_.run(source_, ref_stage_, resumed_, writes_); !done) return putBack(done.error());
  noteTo(report);
  report.add("files", changes_.size());
  cleanUp();
  return report;
}

}  // namespace coffer::repository
