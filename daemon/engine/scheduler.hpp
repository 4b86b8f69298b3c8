#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "dbus/error.hpp"
#include "engine/admission.hpp"
#include "engine/canary.hpp"
#include "engine/step_run.hpp"
#include "model/decide.hpp"
#include "os/async.hpp"

namespace coffer::engine {

/// What a person's call adds to a decision: its id, so that the same call again gets the same answer and has no second
/// effect.
struct Call {
  std::uint32_t uid = 0;
  std::string id;         ///< empty: the caller gave none
  std::string operation;  ///< member and object
  std::string answer;     ///< what the caller is told; empty: the decision's answer
  bool person =
      false;  ///< a person decides: refused while the disk is nearly full, so that no answer is accepted and lost
};

/// Carries tasks on: takes facts, lets the rules decide, stores what they decided, and performs the step that is open
/// then. One step of a task at a time, turns and gates within the machine's limit, everything else at once.
class Scheduler {
 public:
  /// Told after every stored change.
  using Told =
      std::function<void(const model::Task& before, const model::Task& after, const std::vector<model::Event>& events)>;

  /// Told when what a task waits for has changed, though nothing was stored.
  using Waits = std::function<void(std::uint64_t task)>;

  Scheduler(Context& context, Canary& canary, Settings settings, Told told, Waits waits);

  /// What is open in the store goes on from where it was. Called once, when everything else is up; until then facts are
  /// taken and nothing is performed.
  void resume();

  /// One fact of one task: decided, stored, told, and followed by its step. The answer is the decision's.
  std::expected<std::string, Error> submit(std::uint64_t task, const model::Fact& fact,
                                           std::vector<std::string> texts = {},
                                           std::vector<store::Finding> findings = {}, const Call& call = {});

  /// Which turns and gates may run; who tries an agent asks too.
  [[nodiscard]] Admission& admission() { return admission_; }

  /// Looks again at what waits to begin: the limits have changed.
  void reconsider() { admission_.reconsider(); }
  /// What the task's open step waits for before it begins: a place, or room on the disk.
  [[nodiscard]] std::optional<model::Waiting> waiting(std::uint64_t task) const { return admission_.waiting(task); }

  /// What may run at once, as it is configured now.
  [[nodiscard]] AdmissionLimits admissionLimits() const;
  [[nodiscard]] UserSpace userSpace(std::uint32_t owner) const { return admission_.userSpace(owner); }

  /// Steps being performed or waiting for their turn.
  [[nodiscard]] std::size_t running() const { return performing_.size(); }

 private:
  struct Performing {
    std::string step;
    bool stopping = false;
  };
  Detached perform(std::uint64_t id);
  Detached stop(std::uint64_t id, std::string step);
  Detached wakeAt(std::uint64_t id, std::uint64_t until, std::uint64_t sequence);
  void follow(const model::Task& task);
  void letGo(std::uint64_t id);
  Async<Done> close(std::uint64_t id, Session& session, bool keepImages);
  Async<bool> begun(std::string step);
  Async<Done> endFailed(const StepRun& run, const Error& why);
  static Async<std::expected<StepOutcome, Error>> performStep(StepRun& run);

  Context& context_;
  Canary& canary_;
  Settings settings_;
  Told told_;
  std::map<std::uint64_t, Performing> performing_;
  bool resumed_ = false;
  Admission admission_;
};

}  // namespace coffer::engine
