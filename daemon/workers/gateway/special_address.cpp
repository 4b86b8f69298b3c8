#include "workers/gateway/special_address.hpp"

#include <array>
#include <cstdint>
#include <cstring>
#include <string>

#include <arpa/inet.h>
#include <netinet/in.h>

namespace coffer::gateway {

namespace {

struct Range4 {
  std::uint32_t first;
  unsigned bits;
};

constexpr std::uint32_t ip(std::uint32_t a, std::uint32_t b, std::uint32_t c, std::uint32_t d) {
  return a << 24 | b << 16 | c << 8 | d;
}

constexpr Range4 kSpecial4[] = {
    {ip(0, 0, 0, 0), 8},       {ip(10, 0, 0, 0), 8},      {ip(100, 64, 0, 0), 10},   {ip(127, 0, 0, 0), 8},
    {ip(169, 254, 0, 0), 16},  {ip(172, 16, 0, 0), 12},   {ip(192, 0, 0, 0), 24},    {ip(192, 0, 2, 0), 24},
    {ip(192, 31, 196, 0), 24}, {ip(192, 52, 193, 0), 24}, {ip(192, 88, 99, 0), 24},  {ip(192, 168, 0, 0), 16},
    {ip(192, 175, 48, 0), 24}, {ip(198, 18, 0, 0), 15},   {ip(198, 51, 100, 0), 24}, {ip(203, 0, 113, 0), 24},
    {ip(224, 0, 0, 0), 3},
};

bool isPublic4(std::uint32_t address) {
  for (const auto& range : kSpecial4)
    if ((address ^ range.first) >> (32 - range.bits) == 0) return false;
  return true;
}

using Bytes16 = std::array<std::uint8_t, 16>;

bool isPublic6(const Bytes16& a) {
  if ((a[0] & 0xe0) != 0x20) return false;                                         // only 2000::/3 is global unicast
  if (a[0] == 0x20 && a[1] == 0x01 && a[2] < 0x02) return false;                   // 2001::/23, protocol assignments
  if (a[0] == 0x20 && a[1] == 0x01 && a[2] == 0x0d && a[3] == 0xb8) return false;  // 2001:db8::/32, documentation
  if (a[0] == 0x20 && a[1] == 0x02) return false;                                  // 2002::/16, IPv4 inside
  if (a[0] == 0x3f && a[1] == 0xff && (a[2] & 0xf0) == 0) return false;            // 3fff::/20, documentation
  if (a[0] == 0x26 && a[1] == 0x20 && a[2] == 0x00 && a[3] == 0x4f && a[4] == 0x80 && a[5] == 0x00)
    return false;  // AS112
  return true;
}

}  // namespace

bool isPublicAddress(std::string_view address) {
  const std::string text(address);
  in_addr four{};
  if (inet_pton(AF_INET, text.c_str(), &four) == 1) return isPublic4(ntohl(four.s_addr));
  in6_addr six{};
  if (inet_pton(AF_INET6, text.c_str(), &six) != 1) return false;
  Bytes16 bytes{};
  std::memcpy(bytes.data(), &six, bytes.size());
  return isPublic6(bytes);
}

}  // namespace coffer::gateway
