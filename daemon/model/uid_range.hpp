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

/// Where the range begins when an administrator says nothing (uid-base in cofferd.toml), and how long it is.
inline constexpr std::uint32_t kUidBase = 0x7A000000;
inline constexpr std::uint32_t kUidCount = 0x100000;
/// Where it may begin: behind the uids that systemd gives to containers (to 0x6FFFFFFF), and so that it ends before
/// those of foreign images (from 0x7FFE0000); https://systemd.io/UIDS-GIDS. A multiple of kUidStep.
inline constexpr std::uint32_t kUidBaseLeast = 0x70000000;
inline constexpr std::uint32_t kUidBaseMost = 0x7FFE0000 - kUidCount;
inline constexpr std::uint32_t kUidStep = 0x10000;

/// The range with its parts, each uid announced by a userdb drop-in while it is in use.
class UidRanges {
 public:
  constexpr explicit UidRanges(std::uint32_t base = kUidBase) : base_(base) {}

  [[nodiscard]] constexpr std::uint32_t first() const { return base_; }
  [[nodiscard]] constexpr std::uint32_t last() const { return base_ + (kUidCount - 1); }
  [[nodiscard]] constexpr bool holds(std::uint32_t uid) const { return uid >= first() && uid <= last(); }

  [[nodiscard]] constexpr std::array<UidRange, 5> parts() const {
    return {UidRange{UidPart::Sandbox, "sandbox", base_, base_ + 0x7FFFF},
            UidRange{UidPart::Gateway, "gateway", base_ + 0x80000, base_ + 0x9FFFF},
            UidRange{UidPart::Relay, "relay", base_ + 0xA0000, base_ + 0xBFFFF},
            UidRange{UidPart::Resolver, "resolver", base_ + 0xC0000, base_ + 0xDFFFF},
            UidRange{UidPart::Worker, "worker", base_ + 0xE0000, base_ + 0xFFFFF}};
  }
  [[nodiscard]] constexpr UidRange part(UidPart which) const { return parts()[static_cast<std::size_t>(which)]; }

  static constexpr bool mayBegin(std::uint32_t base) {
    return base >= kUidBaseLeast && base <= kUidBaseMost && base % kUidStep == 0;
  }

  bool operator==(const UidRanges&) const = default;

 private:
  std::uint32_t base_;
};

static_assert(UidRanges::mayBegin(kUidBase) && UidRanges().parts().back().last == UidRanges().last());

}  // namespace coffer::model
