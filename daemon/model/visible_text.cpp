#include "model/visible_text.hpp"

#include <array>
#include <cstdint>

namespace coffer::model {
namespace {

struct Range {
  std::uint32_t first;
  std::uint32_t last;
};

/// Sources: Unicode's general categories Cc, Cf, Zl, Zp, its Default_Ignorable_Code_Point property, the noncharacters,
/// and the blank fillers that fonts draw as nothing.
constexpr std::array kHidden = std::to_array<Range>({
    {0x0000, 0x001f},   {0x007f, 0x009f},   {0x00ad, 0x00ad},   {0x034f, 0x034f},   {0x0600, 0x0605},
    {0x061c, 0x061c},   {0x06dd, 0x06dd},   {0x070f, 0x070f},   {0x115f, 0x1160},   {0x17b4, 0x17b5},
    {0x180b, 0x180f},   {0x200b, 0x200f},   {0x2028, 0x202e},   {0x2060, 0x206f},   {0x2800, 0x2800},
    {0x3164, 0x3164},   {0xfdd0, 0xfdef},   {0xfe00, 0xfe0f},   {0xfeff, 0xfeff},   {0xffa0, 0xffa0},
    {0xfff0, 0xfffb},   {0xfffe, 0xffff},   {0x110bd, 0x110bd}, {0x110cd, 0x110cd}, {0x13430, 0x1345f},
    {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff},
});

constexpr std::uint32_t kEmojiSelector = 0xfe0f;

bool isHidden(std::uint32_t point) {
  for (const auto& range : kHidden)
    if (point >= range.first && point <= range.last) return true;
  return (point & 0xfffeU) == 0xfffeU;
}

std::string hex(std::uint32_t value, int digits) {
  constexpr std::string_view alphabet = "0123456789ABCDEF";
  std::string result;
  for (int shift = 20; shift >= 0; shift -= 4)
    if (shift < digits * 4 || (value >> shift) != 0) result += alphabet[(value >> shift) & 15U];
  return result;
}

struct Decoded {
  std::uint32_t point = 0;
  std::size_t size = 0;  ///< 0: not UTF-8
};

/// One character of UTF-8: shortest form only, no surrogates.
Decoded decode(std::string_view text) {
  const auto byte = [&](std::size_t at) { return static_cast<std::uint32_t>(static_cast<unsigned char>(text[at])); };
  const auto first = byte(0);
  if (first < 0x80) return {first, 1};
  const std::size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || size > text.size()) return {};
  auto point = first & (0xffU >> (size + 1));
  for (std::size_t at = 1; at < size; ++at) {
    if ((byte(at) & 0xc0U) != 0x80U) return {};
    point = (point << 6) | (byte(at) & 0x3fU);
  }
  const std::uint32_t least = size == 4 ? 0x10000 : size == 3 ? 0x800 : 0x80;
  if (point < least || point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff)) return {};
  return {point, size};
}

}  // namespace

std::string visibleText(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  std::uint32_t before = kEmojiSelector;
  while (!text.empty()) {
    const auto [point, size] = decode(text);
    if (size == 0) {
      result += "<0x" + hex(static_cast<unsigned char>(text.front()), 2) + ">";
      before = kEmojiSelector;
      text.remove_prefix(1);
      continue;
    }
    // One selector after a character makes it an emoji and is everyday text; a run of them carries something.
    const bool shown =
        point == '\n' || point == '\t' || (point == kEmojiSelector && before != kEmojiSelector) || !isHidden(point);
    if (shown)
      result.append(text, 0, size);
    else if (point != '\r' || !text.starts_with("\r\n"))
      result += "<U+" + hex(point, 4) + ">";
    before = shown ? point : kEmojiSelector;
    text.remove_prefix(size);
  }
  return result;
}

std::string shortened(std::string_view text, std::size_t bytes) {
  if (text.size() <= bytes) return std::string(text);
  std::size_t end = bytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U)
    --end;
  return std::string(text.substr(0, end));
}

}  // namespace coffer::model
