#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace coffer::model {

/// A block of IPv4 addresses that no server on the internet has. Addresses are in host byte order.
struct SpecialBlock {
  std::uint32_t first;
  unsigned bits;
  std::string_view words;  ///< what it is, as a person is told

  [[nodiscard]] constexpr bool holds(std::uint32_t address) const { return (address ^ first) >> (32 - bits) == 0; }
};

constexpr std::uint32_t ipv4(std::uint32_t a, std::uint32_t b, std::uint32_t c, std::uint32_t d) {
  return a << 24 | b << 16 | c << 8 | d;
}

inline constexpr std::string_view kLoopbackWords = "loopback address";
inline constexpr std::string_view kMulticastWords = "multicast address";
inline constexpr std::string_view kMetadataWords = "metadata address";
inline constexpr std::string_view kLinkLocalWords = "link-local or metadata address";

/// In rising order, none within another. Sources: IANA IPv4 Special-Purpose Address Registry (RFC 6890 and later);
/// multicast and what was never given out (RFC 5771, RFC 1112); the one address by which a large provider of machines
/// gives out their secrets although it looks public.
inline constexpr std::array kSpecialBlocks = std::to_array<SpecialBlock>({
    {ipv4(0, 0, 0, 0), 8, "address of this network"},
    {ipv4(10, 0, 0, 0), 8, "private address"},
    {ipv4(100, 64, 0, 0), 10, "carrier's private address"},
    {ipv4(127, 0, 0, 0), 8, kLoopbackWords},
    {ipv4(168, 63, 129, 16), 32, kMetadataWords},
    {ipv4(169, 254, 0, 0), 16, kLinkLocalWords},
    {ipv4(172, 16, 0, 0), 12, "private address"},
    {ipv4(192, 0, 0, 0), 24, "reserved address"},
    {ipv4(192, 0, 2, 0), 24, "documentation address"},
    {ipv4(192, 31, 196, 0), 24, "reserved address"},
    {ipv4(192, 52, 193, 0), 24, "reserved address"},
    {ipv4(192, 88, 99, 0), 24, "reserved address"},
    {ipv4(192, 168, 0, 0), 16, "private address"},
    {ipv4(192, 175, 48, 0), 24, "reserved address"},
    {ipv4(198, 18, 0, 0), 15, "address of no name here"},
    {ipv4(198, 51, 100, 0), 24, "documentation address"},
    {ipv4(203, 0, 113, 0), 24, "documentation address"},
    {ipv4(224, 0, 0, 0), 4, kMulticastWords},
    {ipv4(240, 0, 0, 0), 4, "reserved address"},
});

/// The block that an address is in; nothing for one that a server on the internet may have.
constexpr const SpecialBlock* specialBlock(std::uint32_t address) {
  for (const auto& block : kSpecialBlocks)
    if (block.holds(address)) return &block;
  return nullptr;
}

}  // namespace coffer::model
