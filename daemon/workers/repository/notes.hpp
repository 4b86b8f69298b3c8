#pragma once

#include <expected>
#include <string>

#include "workers/repository/git.hpp"

namespace coffer::repository {

/// A note on a commit, as `git notes` has them.
struct Note {
  std::string commit;
  std::string text;
  std::string who;   ///< "NAME <EMAIL>"
  std::string when;  ///< "SECONDS +HHMM"
};

/// Writes the commit that adds a note to those of `notes` (a commit of a notes ref, or empty when there is none yet),
/// as objects where git writes. Gives its id; the same id for the same note on the same notes; empty when that commit
/// has a note already.
std::expected<std::string, Error> addNote(Git& git, const std::string& notes, const Note& note);

}  // namespace coffer::repository
