#pragma once

#include <span>

#include "model/uid_range.hpp"
#include "walls/netlink.hpp"
#include "walls/request.hpp"

namespace coffer::walls {

/// The host's table `inet cofferdam`: what processes with uids of ours may send in the host's network namespace.
/// Everything else of theirs is rejected, loopback and IPv6 included; nobody else's packets are touched. The table
/// belongs to one netlink socket (flags owner, persist): nobody can flush or change it while any copy of that socket is
/// open, so the socket goes to the service manager's store.
///
/// Sources: docs/security.md; the uid parts are model/uid_range.hpp; special addresses are model/special_address.hpp.
class HostTable {
 public:
  /// Takes over the table of an earlier process through its socket, or makes it (replacing what an earlier boot of the
  /// service left without an owner). Unsupported when the kernel has no owned, persistent tables.
  static Result<HostTable> open(Fd storedSocket);

  /// Removes the table, which nobody may own any more: the last copy of its socket is closed. None there is success.
  static Result<void> takeDown();

  Result<void> set(HostSetKind set, const HostEntry& entry, bool remove);
  /// Exactly `entries` from now on, in one transaction. At most limits::kHostEntries.
  Result<void> replace(HostSetKind set, std::span<const HostEntry> entries);

  /// The rules are about this range of uids from now on; the sets stay. The table itself remembers the range.
  Result<void> useUids(const model::UidRanges& uids);
  [[nodiscard]] const model::UidRanges& uids() const { return uids_; }

  /// Whether the table stands as it was made and belongs to us. Unsupported when it does not.
  Result<void> prove();
  /// Whether the kernel takes a rule that hands connections to a listener (TPROXY); it is made and taken away in one
  /// transaction, so no packet ever meets it.
  static Result<void> tryTproxy();

  [[nodiscard]] int socket() const { return netlink_.fd(); }

 private:
  explicit HostTable(Netlink netlink) : netlink_(std::move(netlink)) {}
  Result<void> build();
  Result<bool> standing();
  Netlink netlink_;
  model::UidRanges uids_;
};

}  // namespace coffer::walls
