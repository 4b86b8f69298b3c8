#pragma once

#include <cstdint>
#include <expected>
#include <string>

#include <systemd/sd-event.h>

#include "dbus/error.hpp"
#include "os/async.hpp"

namespace coffer::engine {

/// Keys of providers at rest: each is a file that systemd encrypted with the machine's own key (TPM or host secret) and
/// that PID 1 decrypts for one gateway at a time. cofferd sees a key once, when it is set, and never again. The file is
/// named for the one URL the key may be sent to, so that a gateway that PID 1 starts again by itself, with the URL that
/// it was first told, gets the key of that URL or none.
class KeyVault {
 public:
  KeyVault(sd_event* event, std::string directory) : event_(event), directory_(std::move(directory)) {}

  /// Encrypts and stores; replaces an older key of that provider for that URL. Environment when the machine's
  /// credential service does not answer.
  Async<std::expected<void, Error>> put(std::uint64_t provider, std::string baseUrl, std::string key);
  /// Forgets what there is of the provider, for any URL; none is success.
  std::expected<void, Error> drop(std::uint64_t provider) const;
  /// Gives a key that an older version stored its name of now: it was for the URL that the provider has.
  std::expected<void, Error> adopt(std::uint64_t provider, const std::string& baseUrl) const;

 private:
  sd_event* event_;
  std::string directory_;
};

}  // namespace coffer::engine
