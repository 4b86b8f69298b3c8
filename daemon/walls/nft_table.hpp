#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include <arpa/inet.h>  // before the kernel's own of the same names
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>

#include "walls/netlink.hpp"
#include "walls/nft_batch.hpp"

namespace coffer::walls {

/// The type numbers that nft prints sets by; a concatenation is six bits each, the first part uppermost.
inline constexpr std::uint32_t kTypeIpv4 = 7;
inline constexpr std::uint32_t kTypeIpv6 = 8;
inline constexpr std::uint32_t kTypeProtocol = 12;
inline constexpr std::uint32_t kTypeService = 13;
constexpr std::uint32_t concatenate(std::uint32_t a, std::uint32_t b) { return a << 6 | b; }
constexpr std::uint32_t concatenate(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  return concatenate(concatenate(a, b), c);
}

struct NftSet {
  const char* name;
  std::uint32_t keyType;
  std::uint32_t keyBytes;   ///< each part of a concatenation rounded up to four
  std::uint32_t flags = 0;  ///< NFT_SET_*
  std::uint32_t size = 0;   ///< 0: no limit
  bool counted = false;     ///< each element has a counter
};

struct NftElement {
  std::vector<std::uint8_t> key;
  std::uint32_t flags = 0;  ///< NFT_SET_ELEM_INTERVAL_END
};

/// A table of the inet family, by name: puts what it is told into a batch.
class NftTable {
 public:
  explicit NftTable(const char* name) : name_(name) {}

  void create(NftBatch& batch, std::uint32_t flags, std::string_view comment) const;
  /// Removes the table if there is one.
  void destroy(NftBatch& batch) const;
  void addSet(NftBatch& batch, const NftSet& set) const;
  void addChain(NftBatch& batch, const char* chain) const;
  /// A filter chain at the output hook.
  void addOutputChain(NftBatch& batch, const char* chain, std::uint32_t policy) const;
  void addElements(NftBatch& batch, const char* set, std::span<const NftElement> elements) const;
  /// Removes elements whether they are there or not.
  void removeElements(NftBatch& batch, const char* set, std::span<const NftElement> elements) const;
  void flushSet(NftBatch& batch, const char* set) const;

  struct Seen {
    std::span<const std::uint8_t> key;
    std::uint64_t packets = 0;
  };
  Result<void> readSet(Netlink& netlink, const char* set, const std::function<void(const Seen&)>& each) const;

  /// What the kernel says about the table: flags, owner's port, comment. NotFound when there is none.
  struct State {
    std::uint32_t flags = 0;
    std::uint32_t owner = 0;
    std::string comment;
  };
  Result<State> state(Netlink& netlink) const;

  [[nodiscard]] const char* name() const { return name_; }

 private:
  void elements(NftBatch& batch, std::uint16_t type, std::uint16_t flags, const char* set,
                std::span<const NftElement> elements) const;
  const char* name_;
};

}  // namespace coffer::walls
