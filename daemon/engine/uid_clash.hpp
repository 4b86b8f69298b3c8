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

/// Who else has uids or gids of our range according to those files, as a sentence; nothing when nobody does.
std::optional<std::string> uidClashInFiles(const model::UidRanges& ranges, const IdFiles& files = {});

/// The same for the first and last number of every part, by whoever answers for names on this machine (nsswitch.conf:
/// userdb, directories); names of our own do not count. It blocks: a question for NameService.
std::optional<std::string> uidClashByName(const model::UidRanges& ranges);

}  // namespace coffer::engine
