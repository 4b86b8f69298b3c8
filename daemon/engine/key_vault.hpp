#pragma once

#include <cstdint>
#include <expected>
#include <string>

#include <systemd/sd-event.h>

#include "dbus/error.hpp"
#include "os/async.hpp"

namespace coffer::engine {

/// Keys of providers at rest: each is a file that systemd encrypted with the machine's own key (TPM or host secret) and
/// that PID 1 decrypts for one gateway at a time. cofferd sees a key once, when it is set, and never again.
class KeyVault {
 public:
  KeyVault(sd_event* event, std::string directory) : event_(event), directory_(std::move(directory)) {}

  /// Encrypts and stores; replaces an older key of that provider. Environment when the machine's credential service
  /// does not answer.
  Async<std::expected<void, Error>> put(std::uint64_t provider, std::string key);
  /// Forgets it; a missing one is success.
  std::expected<void, Error> drop(std::uint64_t provider);
  [[nodiscard]] std::string path(std::uint64_t provider) const {
    return directory_ + "/" + std::to_string(provider) + ".cred";
  }

 private:
  sd_event* event_;
  std::string directory_;
};

}  // namespace coffer::engine
