#pragma once

#include <map>
#include <string>

#include "os/fd.hpp"

namespace coffer::walls {

/// Descriptors that the service manager keeps for us over our own end (FDSTORE=, sd_listen_fds_with_names(3)). Without
/// a service manager nothing is kept.
class FdStore {
 public:
  /// What was kept for this process. To be called once.
  static FdStore fromServiceManager();

  FdStore() = default;
  explicit FdStore(std::map<std::string, Fd> kept) : kept_(std::move(kept)) {}

  /// Takes a kept descriptor out; none when there is none of that name.
  Fd take(const std::string& name);
  [[nodiscard]] const std::map<std::string, Fd>& kept() const { return kept_; }

  /// Gives a copy of `fd` into the manager's keeping.
  static void put(const std::string& name, int fd);
  /// Tells the manager to close what it keeps under the name.
  static void drop(const std::string& name);

 private:
  std::map<std::string, Fd> kept_;
};

}  // namespace coffer::walls
