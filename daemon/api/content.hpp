#pragma once

#include <cstdint>
#include <expected>
#include <string>

#include "api/backend.hpp"
#include "dbus/error.hpp"

namespace coffer::api {

/// Bytes of a text in [offset, offset + limit); fewer at its end.
struct Piece {
  std::string bytes;
  std::uint64_t total = 0;
};
[[nodiscard]] std::expected<Piece, Error> pieceOf(const Content& content, std::uint64_t offset, std::size_t limit);

/// The whole text. TooLarge beyond limits::kLogShownBytes, which no text of ours reaches.
[[nodiscard]] std::expected<std::string, Error> wholeOf(const Content& content);

}  // namespace coffer::api
