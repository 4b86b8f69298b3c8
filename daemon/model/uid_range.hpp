#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace coffer::model {

/// What a host uid of ours is for. The host table's rules match these parts.
enum class UidPart { Sandbox, Gateway, Relay, Resolver, Worker };

struct UidRange {
  UidPart part;
  std::string_view name;
  std::uint32_t first;
  std::uint32_t last;  ///< included

  [[nodiscard]] constexpr std::uint32_t size() const { return last - first + 1; }
  [[nodiscard]] constexpr bool holds(std::uint32_t uid) const { return uid >= first && uid <= last; }
};

/// The range and its parts, as announced by the userdb drop-ins.
inline constexpr std::uint32_t kUidFirst = 0x7A000000;
inline constexpr std::uint32_t kUidLast = 0x7A0FFFFF;
inline constexpr std::array kUidRanges = std::to_array<UidRange>({
    {UidPart::Sandbox, "sandbox", 0x7A000000, 0x7A07FFFF},
    {UidPart::Gateway, "gateway", 0x7A080000, 0x7A09FFFF},
    {UidPart::Relay, "relay", 0x7A0A0000, 0x7A0BFFFF},
    {UidPart::Resolver, "resolver", 0x7A0C0000, 0x7A0DFFFF},
    {UidPart::Worker, "worker", 0x7A0E0000, 0x7A0FFFFF},
});

constexpr const UidRange& uidRange(UidPart part) { return kUidRanges[static_cast<std::size_t>(part)]; }

static_assert(kUidRanges.front().first == kUidFirst && kUidRanges.back().last == kUidLast);

}  // namespace coffer::model
