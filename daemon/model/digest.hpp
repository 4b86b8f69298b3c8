#pragma once

#include <string>
#include <string_view>

namespace coffer::model {

/// "sha256:" and 64 lower-case hex digits over exactly these bytes.
std::string sha256(std::string_view bytes);

/// Whether a text has the form of such a digest.
bool isDigest(std::string_view text);

}  // namespace coffer::model
