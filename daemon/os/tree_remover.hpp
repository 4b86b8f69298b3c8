#pragma once

#include <chrono>
#include <expected>
#include <optional>
#include <string>

namespace coffer::os {

/// Why something of a tree could not be removed: an errno, and what was being done.
struct RemovalFault {
  int number = 0;
  std::string what;
};

/// Whether directories of others are made root's before they are emptied: for who may change owners but may not write
/// everywhere.
enum class Foreign { AsTheyAre, TakeOver };

/// Removes the directory `name` in `parent` with all below it, by descriptor: no link is followed and no mount entered,
/// however deep or wide the tree is and whatever an agent called its files; the number of descriptors and the stack do
/// not depend on it. True when it is gone (or was never there); false when `until` came first: call again. ENOTDIR or
/// ELOOP: it is no directory; EBUSY: something is mounted in it.
std::expected<bool, RemovalFault> removeDirectory(int parent, const std::string& name, Foreign foreign,
                                                  std::optional<std::chrono::steady_clock::time_point> until = {});

}  // namespace coffer::os
