#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "agents/configuration.hpp"
#include "agents/data_set.hpp"
#include "agents/descriptor.hpp"
#include "agents/prompt.hpp"
#include "agents/provider_file.hpp"
#include "agents/risky_file.hpp"
#include "dbus/error.hpp"
#include "engine/context.hpp"
#include "engine/unit_input.hpp"
#include "engine/worker_run.hpp"
#include "model/fact.hpp"
#include "model/step.hpp"
#include "model/task.hpp"
#include "os/async.hpp"
#include "store/store.hpp"

namespace coffer::engine {

class Session;

/// What a machine's files say, as it was last read without a fault.
struct Settings {
  const agents::ConfigurationFile* configuration = nullptr;
  const agents::DataSet<agents::Descriptor>* agents = nullptr;
  const agents::DataSet<agents::ProviderFile>* providers = nullptr;
  const agents::DataSet<agents::PromptText>* prompts = nullptr;
  const agents::DataSet<agents::RiskyFile>* risky = nullptr;
};

/// What a step is performed with: the task as it was when the step was opened, and what belongs to it.
struct StepRun {
  Context* context = nullptr;
  Settings settings;
  model::Task task;
  model::Step step;
  store::Project project;
  std::vector<gid_t> ownerGroups;  ///< of a turn that may be paid with the machine's key, else none

  /// Whether a decision has come meanwhile that makes the step's result nobody's; then nothing more is started for it.
  std::function<bool()> overtaken = [] { return false; };

  /// An agent is tried: what it is asked instead of its role's prompt, and how long it may take. There is no project
  /// and no commit then; /src is an empty folder.
  struct Trial {
    std::string prompt;
    std::uint64_t minutes = 0;
  };
  std::optional<Trial> trial;

  /// Where the step's own units are; a project that is being added has no task yet.
  [[nodiscard]] std::string slice() const { return task.id ? taskSlice(task.owner, task.id) : ownerSlice(task.owner); }
  /// The name of a unit that belongs to the step: its own, or one beside it.
  [[nodiscard]] std::string unit(const std::string& suffix = {}) const {
    return suffix.empty() ? step.name : step.name + "-" + suffix;
  }
};

/// What performing a step came to: the fact for decide(), and the texts whose digests it holds.
struct StepOutcome {
  model::Fact fact;
  std::vector<std::string> texts;
  std::vector<store::Finding> findings;
  std::string text;  ///< what the agent said last, as its output has it
  /// What the step still holds: taken away when the fact is stored, not before, since until then the step may have to
  /// be done again from what is in it.
  std::shared_ptr<Session> session;
};

/// Runs a worker for the step under a uid of its own, which is given back afterwards.
Async<std::expected<WorkerResult, Error>> runOwnWorker(StepRun& run, std::string suffix, std::string program,
                                                       std::string verb, Records request,
                                                       std::vector<sandbox::Bind> readOnly,
                                                       std::vector<sandbox::Bind> writable = {},
                                                       std::vector<InputFile> files = {});

/// Tells the journal that a run of the step, as it is in the store, ended, and how often its sandbox was refused the
/// network.
void logEnd(const StepRun& run, const std::string& unit, const std::vector<store::Refusal>& refused);

/// Whose commit a candidate is, and of when, for the worker that makes it.
void addAuthor(Records& request, const StepRun& run);

/// Makes a candidate a merge commit that keeps what the writer committed.
void keepCommits(Records& request, const model::Task& task, const std::string& writerCommit);

/// What a task's sandboxes may use in all: as configured, half of the machine's memory where nothing is.
sandbox::SliceLimits boxLimits(const agents::Configuration& configuration);

/// What all of a user's tasks may use together, what serves their sandboxes included.
sandbox::SliceLimits userLimits(const agents::Configuration& configuration);

/// How many turns and gates may run at once, of everybody and of one user.
std::size_t placesOf(const agents::Configuration& configuration);
std::size_t placesOfUser(const agents::Configuration& configuration);

/// The base of a project as a checkout that workspaces are laid over; made when it is not there. Returns its path.
Async<std::expected<std::string, Error>> ensureCheckout(StepRun& run, std::string commit, std::string branch);

/// Brings a mounted workspace that stands at the base to a commit of the task, by a worker with the uid of whoever gets
/// it next.
Async<std::expected<void, Error>> checkoutCommit(StepRun& run, Session& session, sandbox::Identity identity,
                                                 std::string commit);
inline Async<std::expected<void, Error>> checkoutCandidate(StepRun& run, Session& session, sandbox::Identity identity) {
  return checkoutCommit(run, session, std::move(identity), run.step.candidate);
}

/// The object stores a worker reads, as /in/base and /in/task.
std::vector<sandbox::Bind> stores(const StepRun& run, bool withTask);

// One for each kind of step. They are done again from the start after a crash: what is there already is used, what was
// cut off is made again, and an agent that still runs is waited for.
Async<std::expected<StepOutcome, Error>> performSnapshot(StepRun& run);
Async<std::expected<StepOutcome, Error>> performRestore(StepRun& run);
Async<std::expected<StepOutcome, Error>> performTurn(StepRun& run);
Async<std::expected<StepOutcome, Error>> performImport(StepRun& run);
Async<std::expected<StepOutcome, Error>> performGate(StepRun& run);
Async<std::expected<StepOutcome, Error>> performDiff(StepRun& run);
Async<std::expected<StepOutcome, Error>> performLand(StepRun& run);
/// What a landing comes to that found the branch elsewhere: the work as a new candidate on top of what is there now, or
/// the paths that conflict with it.
Async<std::expected<StepOutcome, Error>> moveCandidate(StepRun& run);
Async<std::expected<StepOutcome, Error>> performCleanUp(StepRun& run);

}  // namespace coffer::engine
