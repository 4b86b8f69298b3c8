#include "workers/gateway/special_address.hpp"

#include <array>
#include <cstdint>
#include <cstring>
#include <string>

#include <arpa/inet.h>
#include <netinet/in.h>

#include "model/special_address.hpp"

namespace coffer::gateway {

namespace {

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
  if (inet_pton(AF_INET, text.c_str(), &four) == 1) return model::specialBlock(ntohl(four.s_addr)) == nullptr;
  in6_addr six{};
  if (inet_pton(AF_INET6, text.c_str(), &six) != 1) return false;
  Bytes16 bytes{};
  std::memcpy(bytes.data(), &six, bytes.size());
  return isPublic6(bytes);
}

}  // namespace coffer::gateway
