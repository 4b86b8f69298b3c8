#pragma once

#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <expected>
#include <span>
#include <string>
#include <string_view>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dbus/error.hpp"
#include "os/fd.hpp"
#include "workers/record.hpp"

/// What every sealed worker that cofferd runs has in common: it reads `IN/request`, does one verb, and leaves
/// `OUT/report`.
namespace coffer::workers {

/// One run of a worker. `in` and `out` are directories that cofferd made; `request` is cofferd's word, everything else
/// below `in` may be hostile.
struct Job {
  std::string in = "/in";
  std::string out = "/out";
  Records request;
  /// For tests: the number of writes after which the run kills itself. 0 is never.
  std::uint64_t stopAfter = 0;
};

/// What a verb answers: the records of its report, or why it refuses. An Internal error is a fault, not a refusal.
using Outcome = std::expected<Records, Error>;

struct Verb {
  std::string_view name;
  Outcome (*run)(const Job& job);
};

/// Exit codes of a worker: 0 = there is a report (a result or a refusal), anything else = a fault that standard error
/// tells.
inline constexpr int kWorkerDone = 0;
inline constexpr int kWorkerFault = 70;
inline constexpr int kWorkerUsage = 64;

inline std::unexpected<Error> refuse(ErrorCode code, std::string message) {
  return std::unexpected(Error{code, std::move(message)});
}
inline std::unexpected<Error> fault(std::string message) { return refuse(ErrorCode::Internal, std::move(message)); }

/// Bytes from somebody else as one line a person can be shown: anything but printable ASCII is a question mark.
inline std::string printable(std::string_view bytes, std::size_t limit = 512) {
  std::string text(bytes.substr(0, limit));
  for (char& c : text)
    if (c < 0x20 || c == 0x7f) c = c == '\n' ? ' ' : '?';
  while (!text.empty() && text.back() == ' ')
    text.pop_back();
  return text;
}

/// The whole of a regular file, at most `limit` bytes, without following a link or waiting on a pipe.
inline std::expected<std::string, Error> readFileAt(int directory, const std::string& path, std::size_t limit) {
  const Fd file(::openat(directory, path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY));
  struct stat status{};
  if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return fault("cannot read " + path);
  if (static_cast<std::uint64_t>(status.st_size) > limit) return refuse(ErrorCode::TooLarge, path + " is too large");
  std::string text;
  char buffer[16384];
  for (;;) {
    const auto got = ::read(file.get(), buffer, sizeof buffer);
    if (got < 0) return fault("cannot read " + path);
    if (got == 0) return text;
    text.append(buffer, static_cast<std::size_t>(got));
    if (text.size() > limit) return refuse(ErrorCode::TooLarge, path + " is too large");
  }
}

/// Writes all bytes, or says no.
inline bool writeAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const auto put = ::write(fd, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(put));
  }
  return true;
}

/// `OUT/report`, whole or not at all: written beside, synced, renamed, the directory synced.
inline bool writeReport(const std::string& out, const Records& report) {
  const Fd directory(::open(out.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory) return false;
  const Fd file(::openat(directory.get(), "report.tmp", O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
  return file && writeAll(file.get(), report.serialize()) && ::fsync(file.get()) == 0 &&
         ::renameat(directory.get(), "report.tmp", directory.get(), "report") == 0 && ::fsync(directory.get()) == 0;
}

/// The whole life of a worker: `PROGRAM VERB [--in DIR] [--out DIR] [--stop-after N]`. It ends by itself after
/// `seconds`.
inline int runWorker(int argc, char** argv, std::span<const Verb> verbs, unsigned seconds) {
  ::prctl(PR_SET_DUMPABLE, 0);
  ::umask(077);
  ::alarm(seconds);
  Job job;
  std::string_view name = argc > 1 ? argv[1] : "";
  for (int i = 2; i < argc; i += 2) {
    const std::string_view option = argv[i];
    if (i + 1 == argc) return kWorkerUsage;
    const std::string_view value = argv[i + 1];
    if (option == "--in") {
      job.in = value;
    } else if (option == "--out") {
      job.out = value;
    } else if (option == "--stop-after") {
      std::from_chars(value.data(), value.data() + value.size(), job.stopAfter);
    } else {
      return kWorkerUsage;
    }
  }
  if (!job.in.starts_with('/') || !job.out.starts_with('/')) return kWorkerUsage;
  for (const auto& verb : verbs) {
    if (verb.name != name) continue;
    const auto text = readFileAt(AT_FDCWD, job.in + "/request", limits::kReportBytes);
    auto request = text ? Records::parse(*text) : std::unexpected(text.error().message);
    if (!request) {
      std::fprintf(stderr, "%s\n", request.error().c_str());
      return kWorkerFault;
    }
    job.request = std::move(*request);
    auto outcome = verb.run(job);
    Records report;
    if (outcome) {
      report = std::move(*outcome);
    } else if (outcome.error().code == ErrorCode::Internal) {
      std::fprintf(stderr, "%s\n", outcome.error().message.c_str());
      return kWorkerFault;
    } else {
      report.add("refused", errorName(outcome.error().code));
      report.add("message", outcome.error().message);
    }
    if (writeReport(job.out, report)) return kWorkerDone;
    std::fprintf(stderr, "cannot write the report\n");
    return kWorkerFault;
  }
  std::fprintf(stderr, "unknown verb\n");
  return kWorkerUsage;
}

}  // namespace coffer::workers
