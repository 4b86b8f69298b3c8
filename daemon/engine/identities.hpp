#pragma once

#include <cstdint>
#include <expected>
#include <string>

#include "dbus/error.hpp"
#include "model/uid_range.hpp"
#include "sandbox/sealed.hpp"

namespace coffer::engine {

/// Makes the host uids of ours known to PID 1 and to people, by drop-ins in /run/userdb that nss-systemd reads.
/// Announcing again is harmless: after a reboot it has to be done again. Which uid is whose is the store's business.
class Identities {
 public:
  explicit Identities(std::string directory = "/run/userdb") : directory_(std::move(directory)) {}

  /// The identity of a uid of ours, announced. Environment when the drop-ins cannot be written.
  std::expected<sandbox::Identity, Error> announce(std::uint32_t uid) const;
  /// Takes the announcement away; the uid may no longer be in use.
  void withdraw(std::uint32_t uid) const;

  /// Names are given by this range from now on.
  void use(model::UidRanges ranges) { ranges_ = ranges; }

  /// The name a uid of ours has: its part and its place in it, "coffer-s12".
  static std::string name(const model::UidRanges& ranges, std::uint32_t uid);

 private:
  model::UidRanges ranges_;
  std::string directory_;
};

}  // namespace coffer::engine
