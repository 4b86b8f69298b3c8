#include "workers/repository/git.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "workers/worker.hpp"

namespace coffer::repository {
namespace {

constexpr const char* kGit = "/usr/bin/git";
constexpr std::size_t kErrorBytes = 8192;

/// Everything that could make git run or read something that is not an object. The transports are refused as a whole.
constexpr std::string_view kConfiguration =
    "[core]\n\trepositoryFormatVersion = 0\n\tfileMode = true\n\thooksPath = /dev/null\n\tfsmonitor = false\n"
    "\tuntrackedCache = false\n\tcommitGraph = false\n\tmultiPackIndex = false\n\tattributesFile = /dev/null\n"
    "\texcludesFile = /dev/null\n\tquotePath = false\n\tautocrlf = false\n\tsymlinks = true\n\tcheckStat = minimal\n"
    "\ttrustctime = false\n\tprotectHFS = true\n\tprotectNTFS = true\n\tuseReplaceRefs = false\n"
    "\tlogAllRefUpdates = false\n\tbigFileThreshold = 64m\n\teditor = /bin/false\n\tpager = cat\n"
    "[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n[protocol]\n\tallow = never\n"
    "[submodule]\n\trecurse = false\n[diff]\n\tignoreSubmodules = none\n\trenames = true\n\trenameLimit = 1000\n"
    "[pack]\n\tthreads = 1\n\tuseBitmaps = false\n\twriteBitmapHashCache = false\n\twriteReverseIndex = false\n"
    "\twindowMemory = 256m\n[index]\n\tthreads = 1\n\tversion = 2\n[i18n]\n\tlogOutputEncoding = UTF-8\n"
    "[advice]\n\tdetachedHead = false\n[feature]\n\tmanyFiles = false\n";

bool writeFile(const std::string& path, std::string_view text) {
  const Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  return file && workers::writeAll(file.get(), text);
}

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> result;
  for (auto& string : strings)
    result.push_back(string.data());
  result.push_back(nullptr);
  return result;
}

struct Pipe {
  Fd read, write;
  bool make() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return false;
    read.reset(ends[0]);
    write.reset(ends[1]);
    return true;
  }
};

}  // namespace

bool isObjectId(std::string_view text) {
  return text.size() == 40 &&
         std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

std::expected<Git, Error> Git::create() {
  Git git;
  const auto& top = git.directory();
  if (top.empty() || ::mkdir((top + "/objects").c_str(), 0700) != 0 ||
      ::mkdir((top + "/objects/pack").c_str(), 0700) != 0 || ::mkdir((top + "/objects/info").c_str(), 0700) != 0 ||
      ::mkdir((top + "/refs").c_str(), 0700) != 0 || ::mkdir((top + "/refs/heads").c_str(), 0700) != 0 ||
      !writeFile(top + "/HEAD", "ref: refs/heads/none\n") || !writeFile(top + "/config", kConfiguration))
    return workers::fault("cannot make a scratch directory");
  git.objects_ = top + "/objects";
  return git;
}

void Git::setObjects(std::string directory, const std::vector<std::string>& lenders) {
  objects_ = std::move(directory);
  lenders_.clear();
  for (const auto& lender : lenders) {
    if (!lenders_.empty()) lenders_ += ':';
    lenders_ += lender;
  }
}

std::vector<std::string> Git::environment() const {
  std::vector<std::string> result = {"PATH=/usr/bin:/bin",
                                     "HOME=/nonexistent",
                                     "XDG_CONFIG_HOME=/nonexistent",
                                     "LC_ALL=C",
                                     "TZ=UTC",
                                     "GIT_CONFIG_NOSYSTEM=1",
                                     "GIT_CONFIG_GLOBAL=/dev/null",
                                     "GIT_CONFIG_SYSTEM=/dev/null",
                                     "GIT_ATTR_NOSYSTEM=1",
                                     "GIT_NO_REPLACE_OBJECTS=1",
                                     "GIT_NO_LAZY_FETCH=1",
                                     "GIT_OPTIONAL_LOCKS=0",
                                     "GIT_TERMINAL_PROMPT=0",
                                     "GIT_ALLOW_PROTOCOL=",
                                     "GIT_PAGER=cat",
                                     "GIT_EDITOR=/bin/false",
                                     "GIT_LITERAL_PATHSPECS=1",
                                     "GIT_GRAFT_FILE=/nonexistent",
                                     "GIT_SHALLOW_FILE=",
                                     "GIT_DIR=" + directory(),
                                     "GIT_COMMON_DIR=" + directory(),
                                     "GIT_OBJECT_DIRECTORY=" + objects_};
  if (!lenders_.empty()) result.push_back("GIT_ALTERNATE_OBJECT_DIRECTORIES=" + lenders_);
  if (!work_tree_.empty()) result.push_back("GIT_WORK_TREE=" + work_tree_);
  if (!index_.empty()) result.push_back("GIT_INDEX_FILE=" + index_);
  return result;
}

std::expected<Git::Result, Error> Git::run(const Call& call) const {
  std::vector<std::string> words = {"git"};
  words.insert(words.end(), call.arguments.begin(), call.arguments.end());
  auto variables = environment();
  const auto argv = pointers(words);
  const auto envp = pointers(variables);

  // Input is a file, not a pipe: nothing can wait for anything while the output is read.
  Fd input;
  if (call.stdin_fd < 0) {
    input.reset(::memfd_create("input", MFD_CLOEXEC));
    if (!input || !workers::writeAll(input.get(), call.input) || ::lseek(input.get(), 0, SEEK_SET) != 0)
      return workers::fault("cannot hold git's input");
  }
  Pipe out, err;
  if (!err.make() || (call.stdout_fd < 0 && !out.make())) return workers::fault("cannot make a pipe");

  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) return workers::fault("cannot fork");
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(125);
    if (call.file_limit > 0) {
      const rlimit limit{call.file_limit, call.file_limit};
      ::setrlimit(RLIMIT_FSIZE, &limit);
    }
    ::signal(SIGPIPE, SIG_DFL);
    // The work tree is the working directory where there is one: git takes relative paths from there.
    const char* place = work_tree_.empty() ? directory().c_str() : work_tree_.c_str();
    if (::dup2(call.stdin_fd < 0 ? input.get() : call.stdin_fd, 0) < 0 ||
        ::dup2(call.stdout_fd < 0 ? out.write.get() : call.stdout_fd, 1) < 0 || ::dup2(err.write.get(), 2) < 0 ||
        ::close_range(3, ~0U, 0) != 0 || ::chdir(place) != 0)
      ::_exit(125);
    ::execve(kGit, argv.data(), envp.data());
    ::_exit(127);
  }
  out.write.reset();
  err.write.reset();

  Result result;
  std::string errors;
  std::array<char, 65536> buffer;
  bool stopped = false;
  while (out.read || err.read) {
    pollfd waits[2] = {{out.read.get(), POLLIN, 0}, {err.read.get(), POLLIN, 0}};
    if (::poll(waits, 2, -1) < 0) continue;
    for (Fd* end : {&out.read, &err.read}) {
      const auto& wait = waits[end == &out.read ? 0 : 1];
      if (!*end || wait.revents == 0) continue;
      const auto got = ::read(end->get(), buffer.data(), buffer.size());
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) {
        end->reset();
        continue;
      }
      const std::string_view piece(buffer.data(), static_cast<std::size_t>(got));
      if (end == &err.read) {
        errors.append(piece.substr(0, kErrorBytes - errors.size()));
      } else if (call.sink) {
        stopped = stopped || !call.sink(piece);
      } else {
        result.out.append(piece.substr(0, call.output_limit + 1 - result.out.size()));
        stopped = result.out.size() > call.output_limit;
      }
      if (stopped && !result.cut) {
        result.cut = true;
        if (!call.sink) result.out.resize(call.output_limit);
        ::kill(child, SIGKILL);
        out.read.reset();
      }
    }
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  result.status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  result.err = workers::printable(errors, kErrorBytes);
  return result;
}

std::expected<std::string, Error> Git::output(const Call& call) const {
  auto result = run(call);
  if (!result) return std::unexpected(result.error());
  if (result->cut)
    return workers::refuse(ErrorCode::TooLarge, "more than the limit of this machine in " + call.arguments.front());
  if (result->status == 128 + SIGXFSZ || (call.file_limit > 0 && result->err.contains("File too large")))
    return workers::refuse(ErrorCode::TooLarge, "the objects are larger than the limit of this machine");
  if (result->status != 0)
    return workers::fault("git " + call.arguments.front() + " failed (" + std::to_string(result->status) +
                          "): " + result->err);
  return std::move(result->out);
}

std::expected<std::string, Error> Git::output(std::vector<std::string> arguments, std::string_view input,
                                              std::size_t limit) const {
  Call call;
  call.arguments = std::move(arguments);
  call.input = input;
  call.output_limit = limit;
  return output(call);
}

}  // namespace coffer::repository
