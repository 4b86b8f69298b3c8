#pragma once

#include <optional>
#include <string>

#include "model/uid_range.hpp"

namespace coffer::engine {

/// Files that give uids and gids to others.
struct IdFiles {
  std::string passwd = "/etc/passwd";
  std::string group = "/etc/group";
  std::string subuid = "/etc/subuid";
  std::string subgid = "/etc/subgid";
};

/// Who else has uids or gids of our range, as a sentence; nothing when nobody does. Asks those files, and for the first
/// and last number of every part whoever answers for names on this machine (nsswitch.conf: userdb, directories); names
/// of our own do not count.
std::optional<std::string> uidClash(const model::UidRanges& ranges, const IdFiles& files = {});

}  // namespace coffer::engine
