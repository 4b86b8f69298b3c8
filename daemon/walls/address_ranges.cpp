#include "walls/address_ranges.hpp"

#include <algorithm>
#include <cstring>

#include <arpa/inet.h>

namespace coffer::walls {

std::vector<std::uint8_t> addressKey(std::uint32_t hostOrder) {
  const std::uint32_t value = htonl(hostOrder);
  std::vector<std::uint8_t> bytes(sizeof(value));
  std::memcpy(bytes.data(), &value, sizeof(value));
  return bytes;
}

std::vector<NftElement> intervalElements(std::vector<AddressRange> ranges) {
  std::ranges::sort(ranges, {}, &AddressRange::first);
  std::vector<NftElement> elements;
  for (std::size_t at = 0; at < ranges.size();) {
    auto [first, last] = ranges[at];
    for (++at; at < ranges.size() && (last == UINT32_MAX || ranges[at].first <= last + 1); ++at)
      last = std::max(last, ranges[at].last);
    elements.push_back({.key = addressKey(first)});
    // The first address after a range ends it; after the last of all addresses there is none.
    if (last != UINT32_MAX) elements.push_back({.key = addressKey(last + 1), .flags = NFT_SET_ELEM_INTERVAL_END});
  }
  return elements;
}

std::vector<AddressRange> specialRanges() {
  std::vector<AddressRange> ranges;
  for (const auto& block : model::kSpecialBlocks)
    ranges.push_back({.first = block.first,
                      .last = block.first + static_cast<std::uint32_t>((std::uint64_t{1} << (32 - block.bits)) - 1)});
  return ranges;
}

}  // namespace coffer::walls
