#pragma once

#include <cstdint>
#include <vector>

#include "model/special_address.hpp"
#include "walls/nft_table.hpp"

namespace coffer::walls {

/// IPv4 addresses from one to another, both included, in host byte order.
struct AddressRange {
  std::uint32_t first = 0;
  std::uint32_t last = 0;
};

/// The elements of an nftables interval set of IPv4 addresses that holds exactly the ranges: in order, with those that
/// touch or overlap made one.
std::vector<NftElement> intervalElements(std::vector<AddressRange> ranges);

/// Every block of model::kSpecialBlocks.
std::vector<AddressRange> specialRanges();

/// An address as nftables has it.
std::vector<std::uint8_t> addressKey(std::uint32_t hostOrder);

}  // namespace coffer::walls
