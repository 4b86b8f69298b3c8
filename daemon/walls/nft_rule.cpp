#include "walls/nft_rule.hpp"

#include <array>
#include <cstring>
#include <new>

#include <arpa/inet.h>
#include <linux/netfilter.h>

namespace coffer::walls {

namespace {

constexpr std::uint32_t cellRegister(unsigned cell) { return NFT_REG32_00 + cell; }

std::array<std::uint8_t, 4> bytesOf(std::uint32_t value) {
  std::array<std::uint8_t, 4> bytes{};
  std::memcpy(bytes.data(), &value, sizeof(value));
  return bytes;
}

}  // namespace

NftRule::NftRule(const char* table, const char* chain) : rule_(nftnl_rule_alloc()) {
  if (!rule_) throw std::bad_alloc();
  nftnl_rule_set_str(rule_.get(), NFTNL_RULE_TABLE, table);
  nftnl_rule_set_str(rule_.get(), NFTNL_RULE_CHAIN, chain);
}

nftnl_expr* NftRule::add(const char* kind) {
  nftnl_expr* expr = nftnl_expr_alloc(kind);
  if (expr == nullptr) throw std::bad_alloc();
  nftnl_rule_add_expr(rule_.get(), expr);  // the rule owns it now
  return expr;
}

NftRule& NftRule::loadMeta(std::uint32_t key, unsigned cell) {
  nftnl_expr* expr = add("meta");
  nftnl_expr_set_u32(expr, NFTNL_EXPR_META_KEY, key);
  nftnl_expr_set_u32(expr, NFTNL_EXPR_META_DREG, cellRegister(cell));
  return *this;
}

NftRule& NftRule::payload(std::uint32_t base, std::uint32_t offset, std::uint32_t bytes, unsigned cell) {
  nftnl_expr* expr = add("payload");
  nftnl_expr_set_u32(expr, NFTNL_EXPR_PAYLOAD_BASE, base);
  nftnl_expr_set_u32(expr, NFTNL_EXPR_PAYLOAD_OFFSET, offset);
  nftnl_expr_set_u32(expr, NFTNL_EXPR_PAYLOAD_LEN, bytes);
  nftnl_expr_set_u32(expr, NFTNL_EXPR_PAYLOAD_DREG, cellRegister(cell));
  return *this;
}

NftRule& NftRule::loadNetwork(std::uint32_t offset, std::uint32_t bytes, unsigned cell) {
  return payload(NFT_PAYLOAD_NETWORK_HEADER, offset, bytes, cell);
}

NftRule& NftRule::loadTransport(std::uint32_t offset, std::uint32_t bytes, unsigned cell) {
  return payload(NFT_PAYLOAD_TRANSPORT_HEADER, offset, bytes, cell);
}

NftRule& NftRule::loadZero(unsigned cell) {
  nftnl_expr* expr = add("immediate");
  nftnl_expr_set_u32(expr, NFTNL_EXPR_IMM_DREG, cellRegister(cell));
  const std::uint32_t zero = 0;
  nftnl_expr_set(expr, NFTNL_EXPR_IMM_DATA, &zero, sizeof(zero));
  return *this;
}

NftRule& NftRule::loadDestinationType(unsigned cell) {
  nftnl_expr* expr = add("fib");
  nftnl_expr_set_u32(expr, NFTNL_EXPR_FIB_FLAGS, NFTA_FIB_F_DADDR);
  nftnl_expr_set_u32(expr, NFTNL_EXPR_FIB_RESULT, NFT_FIB_RESULT_ADDRTYPE);
  nftnl_expr_set_u32(expr, NFTNL_EXPR_FIB_DREG, cellRegister(cell));
  return *this;
}

NftRule& NftRule::toNetworkOrder(unsigned cell) {
  nftnl_expr* expr = add("byteorder");
  nftnl_expr_set_u32(expr, NFTNL_EXPR_BYTEORDER_SREG, cellRegister(cell));
  nftnl_expr_set_u32(expr, NFTNL_EXPR_BYTEORDER_DREG, cellRegister(cell));
  nftnl_expr_set_u32(expr, NFTNL_EXPR_BYTEORDER_OP, NFT_BYTEORDER_HTON);
  nftnl_expr_set_u32(expr, NFTNL_EXPR_BYTEORDER_LEN, 4);
  nftnl_expr_set_u32(expr, NFTNL_EXPR_BYTEORDER_SIZE, 4);
  return *this;
}

NftRule& NftRule::compare(std::uint32_t operation, std::span<const std::uint8_t> value, unsigned cell) {
  nftnl_expr* expr = add("cmp");
  nftnl_expr_set_u32(expr, NFTNL_EXPR_CMP_OP, operation);
  nftnl_expr_set_u32(expr, NFTNL_EXPR_CMP_SREG, cellRegister(cell));
  nftnl_expr_set(expr, NFTNL_EXPR_CMP_DATA, value.data(), static_cast<std::uint32_t>(value.size()));
  return *this;
}

NftRule& NftRule::equals(std::uint8_t value) { return compare(NFT_CMP_EQ, std::array{value}); }

NftRule& NftRule::differs(std::uint8_t value) { return compare(NFT_CMP_NEQ, std::array{value}); }

NftRule& NftRule::in(const char* set, unsigned cell) {
  nftnl_expr* expr = add("lookup");
  nftnl_expr_set_u32(expr, NFTNL_EXPR_LOOKUP_SREG, cellRegister(cell));
  nftnl_expr_set_str(expr, NFTNL_EXPR_LOOKUP_SET, set);
  return *this;
}

NftRule& NftRule::family(std::uint8_t nfproto) { return loadMeta(NFT_META_NFPROTO, 0).equals(nfproto); }

NftRule& NftRule::protocol(std::uint8_t l4proto) { return loadMeta(NFT_META_L4PROTO, 0).equals(l4proto); }

NftRule& NftRule::state(std::uint32_t bits) {
  nftnl_expr* ct = add("ct");
  nftnl_expr_set_u32(ct, NFTNL_EXPR_CT_KEY, NFT_CT_STATE);
  nftnl_expr_set_u32(ct, NFTNL_EXPR_CT_DREG, cellRegister(0));
  nftnl_expr* mask = add("bitwise");
  const std::uint32_t none = 0;
  nftnl_expr_set_u32(mask, NFTNL_EXPR_BITWISE_SREG, cellRegister(0));
  nftnl_expr_set_u32(mask, NFTNL_EXPR_BITWISE_DREG, cellRegister(0));
  nftnl_expr_set_u32(mask, NFTNL_EXPR_BITWISE_LEN, sizeof(bits));
  nftnl_expr_set(mask, NFTNL_EXPR_BITWISE_MASK, &bits, sizeof(bits));
  nftnl_expr_set(mask, NFTNL_EXPR_BITWISE_XOR, &none, sizeof(none));
  return compare(NFT_CMP_NEQ, bytesOf(none));
}

NftRule& NftRule::socketUid(std::uint32_t first, std::uint32_t last) {
  return loadMeta(NFT_META_SKUID, 0)
      .toNetworkOrder(0)
      .compare(NFT_CMP_GTE, bytesOf(htonl(first)))
      .compare(NFT_CMP_LTE, bytesOf(htonl(last)));
}

NftRule& NftRule::record(const char* set) {
  nftnl_expr* expr = add("dynset");
  nftnl_expr_set_u32(expr, NFTNL_EXPR_DYNSET_OP, NFT_DYNSET_OP_UPDATE);
  nftnl_expr_set_u32(expr, NFTNL_EXPR_DYNSET_SREG_KEY, cellRegister(0));
  nftnl_expr_set_str(expr, NFTNL_EXPR_DYNSET_SET_NAME, set);
  return *this;
}

NftRule& NftRule::counter() {
  add("counter");
  return *this;
}

void NftRule::verdict(NftBatch& batch, int code, const char* chain) {
  nftnl_expr* expr = add("immediate");
  nftnl_expr_set_u32(expr, NFTNL_EXPR_IMM_DREG, NFT_REG_VERDICT);
  nftnl_expr_set_u32(expr, NFTNL_EXPR_IMM_VERDICT, static_cast<std::uint32_t>(code));
  if (chain != nullptr) nftnl_expr_set_str(expr, NFTNL_EXPR_IMM_CHAIN, chain);
  append(batch);
}

void NftRule::reject(NftBatch& batch, std::uint32_t type, std::uint8_t code) {
  nftnl_expr* expr = add("reject");
  nftnl_expr_set_u32(expr, NFTNL_EXPR_REJECT_TYPE, type);
  nftnl_expr_set_u8(expr, NFTNL_EXPR_REJECT_CODE, code);
  append(batch);
}

void NftRule::rejectTcp(NftBatch& batch) {
  loadMeta(NFT_META_L4PROTO, 0).equals(6).reject(batch, NFT_REJECT_TCP_RST, 0);
}

void NftRule::rejectAny(NftBatch& batch) { reject(batch, NFT_REJECT_ICMPX_UNREACH, NFT_REJECT_ICMPX_ADMIN_PROHIBITED); }

NftRule& NftRule::tproxy(unsigned cell) {
  nftnl_expr* expr = add("tproxy");
  nftnl_expr_set_u32(expr, NFTNL_EXPR_TPROXY_FAMILY, NFPROTO_IPV4);
  nftnl_expr_set_u32(expr, NFTNL_EXPR_TPROXY_REG_PORT, cellRegister(cell));
  return *this;
}

void NftRule::append(NftBatch& batch) {
  batch.add(NFT_MSG_NEWRULE, NLM_F_CREATE | NLM_F_APPEND,
            [this](nlmsghdr* header) { nftnl_rule_nlmsg_build_payload(header, rule_.get()); });
}

}  // namespace coffer::walls
