#include "api/content.hpp"

#include <algorithm>
#include <cerrno>

#include <sys/stat.h>
#include <unistd.h>

#include "model/limits.hpp"

namespace coffer::api {
namespace {

std::unexpected<Error> unreadable() {
  return std::unexpected(Error{ErrorCode::Internal, "the text cannot be read; see the journal of cofferd.service"});
}

}  // namespace

std::expected<Piece, Error> pieceOf(const Content& content, std::uint64_t offset, std::size_t limit) {
  if (const auto* text = std::get_if<std::string>(&content.bytes)) {
    const auto start = std::min<std::uint64_t>(offset, text->size());
    return Piece{.bytes = text->substr(start, limit), .total = text->size()};
  }
  const int fd = std::get<Fd>(content.bytes).get();
  struct stat status{};
  if (::fstat(fd, &status) < 0) return unreadable();
  Piece piece{.bytes = {}, .total = static_cast<std::uint64_t>(status.st_size)};
  if (offset >= piece.total) return piece;
  piece.bytes.resize(static_cast<std::size_t>(std::min<std::uint64_t>(limit, piece.total - offset)));
  std::size_t size = 0;
  while (size < piece.bytes.size()) {
    const auto got =
        ::pread(fd, piece.bytes.data() + size, piece.bytes.size() - size, static_cast<off_t>(offset + size));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return unreadable();
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  piece.bytes.resize(size);
  return piece;
}

std::expected<std::string, Error> wholeOf(const Content& content) {
  const auto most = std::max(limits::kLogShownBytes, limits::kDiffBytes);
  auto piece = pieceOf(content, 0, most);
  if (!piece) return std::unexpected(piece.error());
  if (piece->total > most)
    return std::unexpected(
        Error{ErrorCode::TooLarge, "the text is longer than what is handed out at once; use ReadText"});
  return std::move(piece->bytes);
}

}  // namespace coffer::api
