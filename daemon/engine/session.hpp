#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "dbus/error.hpp"
#include "engine/context.hpp"
#include "os/async.hpp"
#include "sandbox/sealed.hpp"
#include "workers/record.hpp"

namespace coffer::engine {

/// What the gateway of one run is told; the key itself is a credential and not here.
struct GatewayTerms {
  Records request;
  std::string credential;  ///< encrypted file of ours, or empty
};

/// The surroundings of one sandbox.
struct SessionSpec {
  std::uint64_t task = 0;
  std::uint32_t owner = 0;
  std::string run;        ///< name of the sandbox's unit without suffix; everything here is named for it
  std::uint32_t uid = 0;  ///< who runs inside
  std::string checkout;   ///< the prepared checkout below the workspace
  std::string layer;      ///< directory of the task's image that takes what is written; empty: read-only without one
  bool readOnly = false;  ///< the merged tree is shown read-only
  std::vector<std::string> directories;  ///< made in the task's image for the uid: home, exchange
  std::vector<std::string> temporary;    ///< directories of the task's image that close() removes
  bool network = true;                   ///< a namespace with a resolver that says no
  std::optional<GatewayTerms> gateway;
};

/// Everything around a sandbox, built before anything runs in it and taken away after it: mounts, namespace with its
/// rules and listeners, gateway and resolver. open() may be called again for the same run, in this process or the next
/// one: what stands is used as it stands, what is missing is made.
class Session {
 public:
  Session(Context& context, SessionSpec spec) : context_(context), spec_(std::move(spec)) {}

  /// Mounts, and the namespace with its rules and its listeners, on which connections wait from now on.
  Async<std::expected<void, Error>> open();
  /// The resolver and the gateway, beside each other, on those listeners.
  Async<std::expected<void, Error>> serve();
  /// Takes everything away, whatever stands. What could not be taken away is the error; the rest is gone. The task's
  /// images may be left mounted for the step that follows at once.
  Async<std::expected<void, Error>> close(bool keepImages = false);

  /// Mounts the workspace again with the merged tree read-only (or writable): between a worker that prepares it and the
  /// run that reads it.
  std::expected<void, Error> remount(bool readOnly);

  [[nodiscard]] std::string workspace() const;
  [[nodiscard]] std::string namespacePath() const;
  /// A directory of the task's image.
  [[nodiscard]] std::string directory(const std::string& name) const;
  /// Whether anything is in it.
  [[nodiscard]] bool holds(const std::string& name) const;
  /// The files that standard output and error of a unit are appended to; made so that the unit can only add to them.
  std::expected<std::pair<std::string, std::string>, Error> outputs(const std::string& unit) const;
  [[nodiscard]] std::string outputFile(const std::string& unit, const char* which) const;

  /// All that was refused in the sandbox: names from the resolver, which is stopped for it, and addresses from the
  /// namespace's rules. For when nothing runs in it any more; asked again it tells the same.
  Async<std::vector<store::Refusal>> refusals(std::string role);

  /// What the gateway metered, as it stands in its output; empty records when there is no gateway.
  [[nodiscard]] Records metered() const;

 private:
  using PassedFds = std::vector<sandbox::PassedFd>;

  std::expected<void, Error> mounts();
  std::expected<void, Error> listeners();
  Async<std::expected<void, Error>> serveOn(std::string suffix, model::UidPart part, Records request, PassedFds fds,
                                            std::string credential);
  Async<std::expected<void, Error>> removeServer(std::string suffix);

  Context& context_;
  SessionSpec spec_;
  PassedFds names_;     ///< what the resolver is to answer on
  PassedFds endpoint_;  ///< what the gateway is to answer on
};

/// The slices of a task with their limits, and its owner's with the totals; there already is success.
Async<std::expected<void, Error>> makeSlices(Context& context, std::uint64_t task, std::uint32_t owner,
                                             sandbox::SliceLimits box, sandbox::SliceLimits user);

}  // namespace coffer::engine
