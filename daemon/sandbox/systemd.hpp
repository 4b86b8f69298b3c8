#pragma once

#include <expected>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <systemd/sd-bus.h>

#include "dbus/error.hpp"
#include "os/async.hpp"
#include "sandbox/unit.hpp"

namespace coffer::sandbox {

/// What PID 1 says of a unit at one moment.
struct UnitState {
  bool loaded = false;
  bool job = false;    ///< it is being started or stopped, or waits for that
  std::string active;  ///< ActiveState
  std::string sub;     ///< SubState
  UnitEnd end;         ///< meaningful once ended() is true

  /// True when the unit's main process is over and its record is still held.
  [[nodiscard]] bool ended() const {
    return loaded && (active == "failed" || (active == "active" && sub == "exited") ||
                      (active == "inactive" && !end.result.empty() && end.code != 0));
  }
  [[nodiscard]] bool running() const { return loaded && !ended() && active != "inactive"; }
};

/// PID 1, as far as we need it: transient units, their ends, their removal. Every call is asynchronous on the daemon's
/// one bus connection; signals are hints, the state that PID 1 answers is the truth. How a job ended is the one thing
/// that only a signal tells; where that was missed, the state of the unit stands in for it. A PID 1 that executes
/// itself again ends no wait: what it did not answer is asked again, and everybody looks again when it is back. Anyone
/// on the bus can send a signal to our name, so each is taken from the connection that the bus says is PID 1's, and
/// from nobody else.
class Systemd {
 public:
  /// The bus must outlive this object. start() subscribes to what PID 1 tells.
  explicit Systemd(sd_bus* bus);
  ~Systemd();
  Systemd(const Systemd&) = delete;
  Systemd& operator=(const Systemd&) = delete;

  std::expected<void, Error> start();

  /// Starts the unit and waits for its start job: for Type=exec that is when the program runs, so a failure to set the
  /// sandbox up is an error here. Busy when a unit of that name is loaded.
  Async<std::expected<void, Error>> startUnit(std::shared_ptr<const Unit> unit);

  /// Changes properties of a unit until the next boot, whether it is loaded or not.
  Async<std::expected<void, Error>> setProperties(std::string name, std::vector<Property> properties);

  /// Waits until the unit has ended; nothing when PID 1 does not know it (any more), or not how it ended.
  Async<std::expected<std::optional<UnitEnd>, Error>> waitForEnd(std::string name);

  Async<std::expected<UnitState, Error>> state(std::string name);

  /// Frees an ended unit, or stops a running one and waits for the stop job.
  Async<std::expected<void, Error>> remove(std::string name);

  /// Sends the signal to the unit's main process.
  Async<std::expected<void, Error>> kill(std::string name, int signal);

  /// Names of the loaded units that match the pattern.
  Async<std::expected<std::vector<std::string>, Error>> list(std::string pattern);

 private:
  struct Reply;
  using MessagePtr = std::shared_ptr<sd_bus_message>;
  struct Answer {
    MessagePtr message;
    std::string errorName;
    std::string errorText;
  };
  /// Asked again while the bus answers in PID 1's place; then `repeated` is set.
  Async<std::expected<MessagePtr, Error>> call(MessagePtr message, bool* repeated = nullptr);
  std::expected<MessagePtr, Error> methodCall(const char* path, const char* interface, const char* member) const;
  /// The result of the job that the call makes; empty when it is over and nobody was told how it ended.
  Async<std::expected<std::string, Error>> job(MessagePtr call, bool* repeated = nullptr);
  /// What a start job of the unit came to, as its state says once nothing is to be done with it any more.
  Async<std::expected<std::string, Error>> settled(std::string name);
  /// Wakes whoever waits for a unit or a job.
  void everybodyLooks();
  bool fromManager(sd_bus_message* message) const;
  void jobEnded(const std::string& path, const std::string& result);
  static int onManagerChanged(sd_bus_message* message, void* data, sd_bus_error* error);
  static int onJobRemoved(sd_bus_message* message, void* data, sd_bus_error* error);
  static int onUnitChanged(sd_bus_message* message, void* data, sd_bus_error* error);
  static int onReply(sd_bus_message* message, void* data, sd_bus_error* error);
  static int onReloading(sd_bus_message* message, void* data, sd_bus_error* error);

  sd_bus* bus_;
  std::vector<sd_bus_slot*> slots_;
  std::string manager_;                                       ///< the unique name of PID 1, as the bus says
  std::multimap<std::string, Completion<std::string>> jobs_;  ///< by object path of the job, which two may wait for
  std::multimap<std::string, Completion<Done>> changed_;      ///< by object path of the unit
};

}  // namespace coffer::sandbox
