#pragma once

#include <expected>
#include <string>

#include "workers/repository/git.hpp"
#include "workers/worker.hpp"

namespace coffer::repository {

/// Makes the commit that would be landed, from the request's records (author-name, author-email, author-time), the
/// tree, its parent and the message. The same request always gives the same id. Writes it, and whatever else
/// OUT/objects has outside of a pack, into a pack there and returns the id. InvalidArgument when a record could not
/// stand in a commit.
std::expected<std::string, Error> writeCandidate(Git& git, const workers::Job& job, const std::string& tree,
                                                 const std::string& base, std::string message);

/// Names of the files in OUT/objects/pack as `store` records, and everything there synced.
std::expected<void, Error> addStore(const workers::Job& job, Records& report);

/// Makes OUT/objects with pack and info.
std::expected<std::string, Error> makeStore(const workers::Job& job);

}  // namespace coffer::repository
