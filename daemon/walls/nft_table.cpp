#include "walls/nft_table.hpp"

#include <cstring>
#include <memory>
#include <new>

#include <libmnl/libmnl.h>
#include <libnftnl/chain.h>
#include <libnftnl/expr.h>
#include <libnftnl/set.h>
#include <libnftnl/table.h>
#include <libnftnl/udata.h>

namespace coffer::walls {

namespace {

constexpr std::uint32_t kInet = NFPROTO_INET;
// In nft's own user data: the key is in network byte order, so that `nft list` can print it.
constexpr std::uint32_t kBigEndian = 2;
// An attribute's length has 16 bits; this many of our largest elements stay far below.
constexpr std::size_t kElementsPerMessage = 256;

template <class T, auto FreeFunction>
struct Free {
  void operator()(T* object) const { FreeFunction(object); }
};

template <class T, auto AllocFunction, auto FreeFunction>
auto make() {
  std::unique_ptr<T, Free<T, FreeFunction>> object(AllocFunction());
  if (!object) throw std::bad_alloc();
  return object;
}

auto makeTable(const char* name) {
  auto table = make<nftnl_table, nftnl_table_alloc, nftnl_table_free>();
  nftnl_table_set_str(table.get(), NFTNL_TABLE_NAME, name);
  nftnl_table_set_u32(table.get(), NFTNL_TABLE_FAMILY, kInet);
  return table;
}

auto makeSet(const char* table, const char* name) {
  auto set = make<nftnl_set, nftnl_set_alloc, nftnl_set_free>();
  nftnl_set_set_str(set.get(), NFTNL_SET_TABLE, table);
  nftnl_set_set_str(set.get(), NFTNL_SET_NAME, name);
  nftnl_set_set_u32(set.get(), NFTNL_SET_FAMILY, kInet);
  return set;
}

auto makeUserData() {
  std::unique_ptr<nftnl_udata_buf, Free<nftnl_udata_buf, nftnl_udata_buf_free>> data(
      nftnl_udata_buf_alloc(NFT_USERDATA_MAXLEN));
  if (!data) throw std::bad_alloc();
  return data;
}

nlmsghdr* getHeader(std::vector<char>& bytes, std::uint16_t type, std::uint16_t flags) {
  bytes.resize(4096);
  return nftnl_nlmsg_build_hdr(bytes.data(), type, kInet, flags, 1);
}

}  // namespace

void NftTable::create(NftBatch& batch, std::uint32_t flags, std::string_view comment) const {
  auto table = makeTable(name_);
  nftnl_table_set_u32(table.get(), NFTNL_TABLE_FLAGS, flags);
  auto data = makeUserData();
  nftnl_udata_put_strz(data.get(), NFTNL_UDATA_TABLE_COMMENT, std::string(comment).c_str());
  nftnl_table_set_data(table.get(), NFTNL_TABLE_USERDATA, nftnl_udata_buf_data(data.get()),
                       nftnl_udata_buf_len(data.get()));
  batch.add(NFT_MSG_NEWTABLE, NLM_F_CREATE,
            [&](nlmsghdr* header) { nftnl_table_nlmsg_build_payload(header, table.get()); });
}

void NftTable::destroy(NftBatch& batch) const {
  auto table = makeTable(name_);
  batch.add(NFT_MSG_DESTROYTABLE, 0, [&](nlmsghdr* header) { nftnl_table_nlmsg_build_payload(header, table.get()); });
}

void NftTable::addSet(NftBatch& batch, const NftSet& description) const {
  auto set = makeSet(name_, description.name);
  // Only has to differ within one batch.
  static thread_local std::uint32_t id = 0;
  nftnl_set_set_u32(set.get(), NFTNL_SET_ID, ++id);
  nftnl_set_set_u32(set.get(), NFTNL_SET_KEY_TYPE, description.keyType);
  nftnl_set_set_u32(set.get(), NFTNL_SET_KEY_LEN, description.keyBytes);
  nftnl_set_set_u32(set.get(), NFTNL_SET_FLAGS, description.flags);
  if (description.size != 0) nftnl_set_set_u32(set.get(), NFTNL_SET_DESC_SIZE, description.size);
  if (description.counted) {
    nftnl_expr* counter = nftnl_expr_alloc("counter");
    if (counter == nullptr) throw std::bad_alloc();
    nftnl_set_add_expr(set.get(), counter);
  }
  auto data = makeUserData();
  nftnl_udata_put_u32(data.get(), NFTNL_UDATA_SET_KEYBYTEORDER, kBigEndian);
  nftnl_set_set_data(set.get(), NFTNL_SET_USERDATA, nftnl_udata_buf_data(data.get()), nftnl_udata_buf_len(data.get()));
  batch.add(NFT_MSG_NEWSET, NLM_F_CREATE, [&](nlmsghdr* header) { nftnl_set_nlmsg_build_payload(header, set.get()); });
}

void NftTable::addChain(NftBatch& batch, const char* name) const {
  auto chain = make<nftnl_chain, nftnl_chain_alloc, nftnl_chain_free>();
  nftnl_chain_set_str(chain.get(), NFTNL_CHAIN_TABLE, name_);
  nftnl_chain_set_str(chain.get(), NFTNL_CHAIN_NAME, name);
  batch.add(NFT_MSG_NEWCHAIN, NLM_F_CREATE,
            [&](nlmsghdr* header) { nftnl_chain_nlmsg_build_payload(header, chain.get()); });
}

void NftTable::addOutputChain(NftBatch& batch, const char* name, std::uint32_t policy) const {
  auto chain = make<nftnl_chain, nftnl_chain_alloc, nftnl_chain_free>();
  nftnl_chain_set_str(chain.get(), NFTNL_CHAIN_TABLE, name_);
  nftnl_chain_set_str(chain.get(), NFTNL_CHAIN_NAME, name);
  nftnl_chain_set_str(chain.get(), NFTNL_CHAIN_TYPE, "filter");
  nftnl_chain_set_u32(chain.get(), NFTNL_CHAIN_HOOKNUM, NF_INET_LOCAL_OUT);
  nftnl_chain_set_s32(chain.get(), NFTNL_CHAIN_PRIO, 0);
  nftnl_chain_set_u32(chain.get(), NFTNL_CHAIN_POLICY, policy);
  batch.add(NFT_MSG_NEWCHAIN, NLM_F_CREATE,
            [&](nlmsghdr* header) { nftnl_chain_nlmsg_build_payload(header, chain.get()); });
}

void NftTable::elements(NftBatch& batch, std::uint16_t type, std::uint16_t flags, const char* name,
                        std::span<const NftElement> elements) const {
  while (!elements.empty()) {
    const auto part = elements.first(std::min(elements.size(), kElementsPerMessage));
    elements = elements.subspan(part.size());
    auto set = makeSet(name_, name);
    for (const NftElement& description : part) {
      nftnl_set_elem* element = nftnl_set_elem_alloc();
      if (element == nullptr) throw std::bad_alloc();
      nftnl_set_elem_add(set.get(), element);  // the set owns it now
      nftnl_set_elem_set(element, NFTNL_SET_ELEM_KEY, description.key.data(),
                         static_cast<std::uint32_t>(description.key.size()));
      if (description.flags != 0) nftnl_set_elem_set_u32(element, NFTNL_SET_ELEM_FLAGS, description.flags);
    }
    batch.add(type, flags, [&](nlmsghdr* header) { nftnl_set_elems_nlmsg_build_payload(header, set.get()); });
  }
}

void NftTable::addElements(NftBatch& batch, const char* set, std::span<const NftElement> added) const {
  elements(batch, NFT_MSG_NEWSETELEM, NLM_F_CREATE, set, added);
}

void NftTable::removeElements(NftBatch& batch, const char* set, std::span<const NftElement> removed) const {
  elements(batch, NFT_MSG_DESTROYSETELEM, 0, set, removed);
}

void NftTable::flushSet(NftBatch& batch, const char* name) const {
  auto set = makeSet(name_, name);
  // A deletion that names no element is one of all of them.
  batch.add(NFT_MSG_DELSETELEM, 0, [&](nlmsghdr* header) { nftnl_set_elems_nlmsg_build_payload(header, set.get()); });
}

Result<void> NftTable::readSet(Netlink& netlink, const char* name, const std::function<void(const Seen&)>& each) const {
  auto asked = makeSet(name_, name);
  std::vector<char> bytes;
  nlmsghdr* header = getHeader(bytes, NFT_MSG_GETSETELEM, NLM_F_DUMP);
  nftnl_set_elems_nlmsg_build_payload(header, asked.get());

  struct Context {
    const std::function<void(const Seen&)>& each;
  } context{each};
  const auto visit = [](nftnl_set_elem* element, void* data) {
    std::uint32_t size = 0;
    const auto* key = static_cast<const std::uint8_t*>(nftnl_set_elem_get(element, NFTNL_SET_ELEM_KEY, &size));
    if (key == nullptr) return 0;
    Seen seen{.key = {key, size}, .packets = 0};
    nftnl_set_elem_expr_foreach(
        element,
        [](nftnl_expr* expr, void* packets) {
          if (std::strcmp(nftnl_expr_get_str(expr, NFTNL_EXPR_NAME), "counter") == 0)
            *static_cast<std::uint64_t*>(packets) = nftnl_expr_get_u64(expr, NFTNL_EXPR_CTR_PACKETS);
          return 0;
        },
        &seen.packets);
    static_cast<Context*>(data)->each(seen);
    return 0;
  };
  return netlink.dump(
      {bytes.data(), header->nlmsg_len},
      [&](const nlmsghdr* message) {
        auto set = make<nftnl_set, nftnl_set_alloc, nftnl_set_free>();
        if (nftnl_set_elems_nlmsg_parse(message, set.get()) == 0) nftnl_set_elem_foreach(set.get(), visit, &context);
      },
      "reading a set");
}

Result<NftTable::State> NftTable::state(Netlink& netlink) const {
  std::vector<char> bytes;
  const nlmsghdr* header = getHeader(bytes, NFT_MSG_GETTABLE, NLM_F_DUMP);
  State state;
  bool found = false;
  auto dumped = netlink.dump(
      {bytes.data(), header->nlmsg_len},
      [&](const nlmsghdr* message) {
        auto table = make<nftnl_table, nftnl_table_alloc, nftnl_table_free>();
        if (nftnl_table_nlmsg_parse(message, table.get()) != 0) return;
        const char* name = nftnl_table_get_str(table.get(), NFTNL_TABLE_NAME);
        if (name == nullptr || std::strcmp(name, name_) != 0) return;
        found = true;
        state.flags = nftnl_table_get_u32(table.get(), NFTNL_TABLE_FLAGS);
        if (nftnl_table_is_set(table.get(), NFTNL_TABLE_OWNER))
          state.owner = nftnl_table_get_u32(table.get(), NFTNL_TABLE_OWNER);
        std::uint32_t size = 0;
        const void* data = nftnl_table_get_data(table.get(), NFTNL_TABLE_USERDATA, &size);
        if (data == nullptr) return;
        nftnl_udata_parse(
            data, size,
            [](const nftnl_udata* attribute, void* comment) {
              if (nftnl_udata_type(attribute) == NFTNL_UDATA_TABLE_COMMENT && nftnl_udata_len(attribute) > 0)
                static_cast<std::string*>(comment)->assign(static_cast<const char*>(nftnl_udata_get(attribute)),
                                                           nftnl_udata_len(attribute) - 1);
              return 0;
            },
            &state.comment);
      },
      "listing tables");
  if (!dumped) return std::unexpected(dumped.error());
  if (!found) return refuse(ErrorCode::NotFound, std::string("there is no table ") + name_);
  return state;
}

}  // namespace coffer::walls
