#include "api/utf8.hpp"

#include <cstdint>
#include <format>

namespace coffer::api {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

bool continuation(std::string_view bytes, std::size_t at) {
  return at < bytes.size() && (static_cast<std::uint8_t>(bytes[at]) & 0xC0U) == 0x80U;
}

/// Length of the well-formed character at `at` (Unicode table 3-7), 0 when there is none.
std::size_t characterAt(std::string_view bytes, std::size_t at) {
  const auto first = static_cast<std::uint8_t>(bytes[at]);
  if (first < 0x80) return first == 0 ? 0 : 1;
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if (!continuation(bytes, at + i)) return 0;
  const auto second = static_cast<std::uint8_t>(bytes[at + 1]);
  if (first == 0xE0 && second < 0xA0) return 0;
  if (first == 0xED && second > 0x9F) return 0;
  if (first == 0xF0 && second < 0x90) return 0;
  if (first == 0xF4 && second > 0x8F) return 0;
  return length;
}

}  // namespace

std::string toUtf8(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size());
  for (std::size_t at = 0; at < bytes.size();) {
    const auto length = characterAt(bytes, at);
    if (length == 0) {
      text += kReplacement;
      ++at;
    } else {
      text += bytes.substr(at, length);
      at += length;
    }
  }
  return text;
}

std::size_t wholeCharacters(std::string_view bytes, std::size_t length) {
  if (length >= bytes.size()) return bytes.size();
  // A character has at most four bytes, so its first is among the last three before the cut.
  for (std::size_t back = 1; back <= 3 && back <= length; ++back) {
    const auto size = characterAt(bytes, length - back);
    if (size > back) return length - back;
    if (size != 0) break;
  }
  return length;
}

std::string toPrintable(std::string_view bytes) {
  std::string text;
  for (std::size_t at = 0; at < bytes.size();) {
    const auto length = characterAt(bytes, at);
    const auto first = static_cast<std::uint8_t>(bytes[at]);
    // C1 controls are U+0080 to U+009F.
    const bool control = length == 2 && first == 0xC2 && static_cast<std::uint8_t>(bytes[at + 1]) < 0xA0;
    if (length == 0 || first < 0x20 || first == 0x7F || first == '\\' || control) {
      text += std::format("\\x{:02x}", first);
      ++at;
      if (control) text += std::format("\\x{:02x}", static_cast<std::uint8_t>(bytes[at++]));
    } else {
      text += bytes.substr(at, length);
      at += length;
    }
  }
  return text;
}

}  // namespace coffer::api
