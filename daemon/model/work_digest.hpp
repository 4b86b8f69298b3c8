#pragma once

#include <string>

#include "model/task.hpp"

namespace coffer::model {

/// The digest a person accepts work by: over base, candidate, tree, gate run, review and policy (and the diff that was
/// shown, which follows from the first two). Each part goes in with its name and length, so no two different tuples
/// give the same bytes.
std::string workDigest(const Task& task);

}  // namespace coffer::model
