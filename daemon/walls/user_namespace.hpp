#pragma once

#include <cstdint>

#include "os/fd.hpp"
#include "walls/fault.hpp"

namespace coffer::walls {

/// One owner seen as another: files of fromUid:fromGid appear as `to`:`to`, and what is written as `to` is stored as
/// fromUid:fromGid. Every other owner appears as nobody.
struct OwnerMap {
  std::uint32_t fromUid = 0;
  std::uint32_t fromGid = 0;
  std::uint32_t to = 0;
};

/// A user namespace that says so, for mount_setattr(). No process is in it.
Result<Fd> makeUserNamespace(const OwnerMap& map);

}  // namespace coffer::walls
