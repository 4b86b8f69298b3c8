#pragma once

#include <chrono>
#include <expected>
#include <functional>
#include <memory>
#include <string>

#include "change_options.hpp"
#include "clients.hpp"
#include "dictionary.hpp"
#include "failure.hpp"

namespace coffer::cli {

/// The system bus, of this machine or over ssh of another one. Calls of the clients block and throw sdbus::Error, which
/// main() turns into a sentence and an exit code.
class Connection {
 public:
  /// `host`: what ssh calls the other machine, or empty. `interactive`: whether polkit may ask for a password.
  static std::expected<std::unique_ptr<Connection>, Failure> open(const std::string& host, bool interactive);

  explicit Connection(std::unique_ptr<sdbus::IConnection> bus);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection();

  ManagerClient& manager() { return manager_; }
  std::unique_ptr<TaskClient> task(const sdbus::ObjectPath& path) { return std::make_unique<TaskClient>(*bus_, path); }
  std::unique_ptr<ProjectClient> project(const sdbus::ObjectPath& path) {
    return std::make_unique<ProjectClient>(*bus_, path);
  }
  std::unique_ptr<ProviderClient> provider(const sdbus::ObjectPath& path) {
    return std::make_unique<ProviderClient>(*bus_, path);
  }
  std::unique_ptr<AgentClient> agent(const sdbus::ObjectPath& path) {
    return std::make_unique<AgentClient>(*bus_, path);
  }

  /// Handles what has arrived, waiting for it up to `patience` (for ever when that is negative), or until the
  /// descriptor `wake` can be read; false when a signal handler interrupted it.
  bool process(std::chrono::milliseconds patience, int wake = -1);

  /// Calls `changed`, from process(), whenever the service appears on the bus or leaves it.
  void watchService(std::function<void(bool there)> changed);

 private:
  std::unique_ptr<sdbus::IConnection> bus_;
  ManagerClient manager_;
};

}  // namespace coffer::cli
