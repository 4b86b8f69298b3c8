#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <vector>

#include "dbus/error.hpp"

namespace coffer::engine {

/// Moves the packs that a worker left in OUTPUT/objects/pack into an object store of ours and makes them root's. A pack
/// that is there already is the same pack. Files that are not plain packs and indexes are left behind.
std::expected<void, Error> keepPacks(const std::string& output, const std::string& objects);

/// Moves a whole directory NAME of a worker's output to DESTINATION/AS, whatever is in it; its files keep their owner.
/// Success when the destination exists already.
std::expected<void, Error> keepTree(const std::string& output, const std::string& name, const std::string& destination,
                                    const std::string& as);

/// Moves one plain file of a worker's output to DESTINATION/AS, root's from then on, with that mode. `limit` in bytes,
/// 0: none.
std::expected<void, Error> keepFile(const std::string& output, const std::string& name, const std::string& destination,
                                    const std::string& as, std::uint64_t limit, unsigned mode = 0444);

/// Makes plain files in a worker's output readable for the next worker, and root's: whoever wrote them can change them
/// no more.
std::expected<void, Error> showFiles(const std::string& output, const std::vector<std::string>& names);
inline std::expected<void, Error> showPack(const std::string& output) { return showFiles(output, {"pack"}); }

/// Makes a directory of ours and all above it, 0755 below the 0700 state directory.
std::expected<void, Error> makePath(const std::string& path);

}  // namespace coffer::engine
