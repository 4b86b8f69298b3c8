#pragma once

#include <expected>
#include <string>

#include "store/database.hpp"

namespace coffer::store {

/// The schema this program writes. Raised by one for every step that is added; a step, once released, never changes.
inline constexpr int kSchemaVersion = 2;

/// "COFF": what makes the file ours.
inline constexpr int kApplicationId = 0x434F4646;

/// Whether the file at this path may be opened by this program: absent, empty, or ours and not newer. Only reads.
/// Errors: Unsupported with both versions named.
std::expected<void, Error> checkSchema(const std::string& path);

/// Brings the schema up to kSchemaVersion, all steps in one transaction.
std::expected<void, Error> migrate(Database& database, std::uint64_t now);

}  // namespace coffer::store
