#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include <libnftnl/common.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netlink.h>

namespace coffer::walls {

/// Messages to nf_tables that take effect together or not at all.
class NftBatch {
 public:
  NftBatch() {
    append([this](char* at) { return nftnl_batch_begin(at, sequence_++); });
  }

  /// Adds one message of the inet family; `fill` gets its header and puts the attributes (at most kMessageBytes of
  /// them).
  template <class Fill>
  void add(std::uint16_t type, std::uint16_t flags, Fill fill) {
    append([&](char* at) {
      nlmsghdr* header = nftnl_nlmsg_build_hdr(at, type, 1 /* NFPROTO_INET */, flags | NLM_F_ACK, sequence_++);
      fill(header);
      return header;
    });
  }

  /// The bytes to send, ended. To be called once, last.
  const std::vector<char>& finish() {
    append([this](char* at) { return nftnl_batch_end(at, sequence_++); });
    return bytes_;
  }

 private:
  static constexpr std::size_t kMessageBytes = 32 * 1024;

  template <class Build>
  void append(Build build) {
    const std::size_t offset = bytes_.size();
    bytes_.resize(offset + kMessageBytes);
    const nlmsghdr* header = build(bytes_.data() + offset);
    bytes_.resize(offset + NLMSG_ALIGN(header->nlmsg_len));
  }

  std::uint32_t sequence_ = 1;
  std::vector<char> bytes_;
};

}  // namespace coffer::walls
