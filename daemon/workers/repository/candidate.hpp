#pragma once

#include <expected>
#include <string>

#include "workers/repository/git.hpp"
#include "workers/worker.hpp"

namespace coffer::repository {

/// Makes the commit that would be landed, from the request's records (base, author-name, author-email, author-time,
/// message) and the tree. The same request always gives the same id. Writes one pack with that one object into
/// OUT/objects/pack and returns the id. InvalidArgument when a record could not stand in a commit.
std::expected<std::string, Error> writeCandidate(Git& git, const workers::Job& job, const std::string& tree,
                                                 const std::string& base);

/// Names of the files in OUT/objects/pack as `store` records, and everything there synced.
std::expected<void, Error> addStore(const workers::Job& job, Records& report);

/// Makes OUT/objects with pack and info.
std::expected<std::string, Error> makeStore(const workers::Job& job);

}  // namespace coffer::repository
