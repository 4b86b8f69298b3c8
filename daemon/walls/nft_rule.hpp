#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include <libnftnl/expr.h>
#include <libnftnl/rule.h>

#include "walls/nft_batch.hpp"

namespace coffer::walls {

/// One rule of an inet table, built expression by expression in the order the kernel evaluates them. Loaded values go
/// to 4-byte registers counted from 0, so that concatenated keys are loads to neighbouring ones.
class NftRule {
 public:
  NftRule(const char* table, const char* chain);

  NftRule& loadMeta(std::uint32_t key, unsigned cell);
  /// IPv4 or IPv6 header (which one is the rule's business), or transport header.
  NftRule& loadNetwork(std::uint32_t offset, std::uint32_t bytes, unsigned cell);
  NftRule& loadTransport(std::uint32_t offset, std::uint32_t bytes, unsigned cell);
  NftRule& loadZero(unsigned cell);
  /// Route type (RTN_*) of the destination, seen from here.
  NftRule& loadDestinationType(unsigned cell);
  /// From host to network byte order, for comparing sizes of what meta loads.
  NftRule& toNetworkOrder(unsigned cell);

  NftRule& compare(std::uint32_t operation, std::span<const std::uint8_t> value, unsigned cell = 0);
  NftRule& equals(std::uint8_t value);
  NftRule& differs(std::uint8_t value);
  NftRule& in(const char* set, unsigned cell = 0);

  /// meta nfproto, meta l4proto, ct state (any of the bits) as conditions.
  NftRule& family(std::uint8_t nfproto);
  NftRule& protocol(std::uint8_t l4proto);
  NftRule& state(std::uint32_t bits);
  /// meta skuid between two, both included.
  NftRule& socketUid(std::uint32_t first, std::uint32_t last);

  /// Puts the key that starts at cell 0 into a dynamic set, or counts it there. Ends the rule when the set is full.
  NftRule& record(const char* set);
  NftRule& counter();
  /// Hands an IPv4 connection to the listener on the port in that cell (0: the packet's own).
  NftRule& tproxy(unsigned cell);
  void accept(NftBatch& batch) { verdict(batch, 1 /* NF_ACCEPT */, nullptr); }
  void jump(NftBatch& batch, const char* chain) { verdict(batch, NFT_JUMP, chain); }
  void go(NftBatch& batch, const char* chain) { verdict(batch, NFT_GOTO, chain); }
  void rejectTcp(NftBatch& batch);
  void rejectAny(NftBatch& batch);
  void append(NftBatch& batch);

 private:
  nftnl_expr* add(const char* kind);
  NftRule& payload(std::uint32_t base, std::uint32_t offset, std::uint32_t bytes, unsigned cell);
  void verdict(NftBatch& batch, int code, const char* chain);
  void reject(NftBatch& batch, std::uint32_t type, std::uint8_t code);

  struct Free {
    void operator()(nftnl_rule* rule) const { nftnl_rule_free(rule); }
  };
  std::unique_ptr<nftnl_rule, Free> rule_;
};

}  // namespace coffer::walls
