#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <vector>

#include "dbus/error.hpp"
#include "engine/places.hpp"
#include "engine/unit_input.hpp"
#include "os/async.hpp"
#include "sandbox/sealed.hpp"
#include "sandbox/systemd.hpp"
#include "workers/record.hpp"

namespace coffer::engine {

/// One run of a worker: what it is, whom it runs as, what it sees.
struct WorkerRun {
  std::string unit;  ///< without suffix
  std::string slice;
  sandbox::Identity identity;
  bool asOwner = false;  ///< the identity is a person, not one of ours
  std::string program;   ///< "coffer-repository", "coffer-collector"
  std::string verb;
  Records request;
  std::vector<sandbox::Bind> readOnly;  ///< destinations below /in
  std::vector<sandbox::Bind> writable;  ///< destinations below /out
  std::vector<std::string> locked;      ///< paths inside that stay read-only
  std::vector<std::string> pinned;      ///< paths inside that stay where they are
  std::vector<InputFile> files;         ///< beside the request
  std::uint64_t memoryBytes = std::uint64_t{4} << 30U;
  std::uint64_t tasks = 256;
  std::uint64_t fileBytes = 0;  ///< largest file it may write; 0: no limit of its own
};

/// What a worker left: its report, and its output directory, which is removed with removeOutput() when what is wanted
/// was taken.
struct WorkerResult {
  Records report;
  std::string output;
};

/// The unit of a worker whose input and output are there.
sandbox::Unit unitOf(const WorkerRun& run, std::string in, std::string out);

/// Runs a worker to its end and reads its report. A worker is a function of its input: one that was cut off is simply
/// run again, so an old unit of that name is removed first. A refusal of the worker comes back as its own error; a
/// crash, a kill or an unreadable report is Internal; a time-out is Environment.
Async<std::expected<WorkerResult, Error>> runWorker(sandbox::Systemd& systemd, Places places, WorkerRun run);

}  // namespace coffer::engine
