#include "workers/resolver/answer.hpp"

#include <memory>
#include <string_view>

#include <ares.h>
#include <ares_dns_record.h>
#include <arpa/inet.h>

namespace coffer::resolver {

namespace {

struct RecordDestroy {
  void operator()(ares_dns_record_t* record) const { ares_dns_record_destroy(record); }
};
using DnsRecord = std::unique_ptr<ares_dns_record_t, RecordDestroy>;

constexpr std::size_t kHeaderBytes = 12;
constexpr unsigned kSecondsToKeep = 60;

std::string lowered(std::string_view name) {
  std::string out(name);
  for (auto& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  if (out.ends_with('.')) out.pop_back();
  return out;
}

bool isOurselves(std::string_view name) { return name == "localhost" || name.ends_with(".localhost"); }

/// A reply without records to the id of a message that was not understood.
std::optional<Answer> complain(std::uint16_t id, ares_dns_rcode_t code) {
  ares_dns_record_t* made = nullptr;
  if (ares_dns_record_create(&made, id, ARES_FLAG_QR, ARES_OPCODE_QUERY, code) != ARES_SUCCESS) return std::nullopt;
  const DnsRecord reply(made);
  unsigned char* bytes = nullptr;
  std::size_t size = 0;
  if (ares_dns_write(reply.get(), &bytes, &size) != ARES_SUCCESS) return std::nullopt;
  Answer answer{.bytes = {bytes, bytes + size}, .refusedName = {}};
  ares_free_string(bytes);
  return answer;
}

bool addLoopback(ares_dns_record_t* reply, const char* name, ares_dns_rec_type_t type) {
  ares_dns_rr_t* record = nullptr;
  if (ares_dns_record_rr_add(&record, reply, ARES_SECTION_ANSWER, name, type, ARES_CLASS_IN, kSecondsToKeep) !=
      ARES_SUCCESS)
    return false;
  if (type == ARES_REC_TYPE_A) {
    in_addr address{};
    address.s_addr = htonl(INADDR_LOOPBACK);
    return ares_dns_rr_set_addr(record, ARES_RR_A_ADDR, &address) == ARES_SUCCESS;
  }
  ares_in6_addr address{};
  address._S6_un._S6_u8[15] = 1;
  return ares_dns_rr_set_addr6(record, ARES_RR_AAAA_ADDR, &address) == ARES_SUCCESS;
}

}  // namespace

std::optional<Answer> answer(std::span<const std::uint8_t> message) {
  if (message.size() < kHeaderBytes) return std::nullopt;
  const auto id = static_cast<std::uint16_t>(message[0] << 8 | message[1]);
  const bool isReply = (message[2] & 0x80) != 0;
  if (isReply) return std::nullopt;  // answering answers is how loops begin

  ares_dns_record_t* made = nullptr;
  if (ares_dns_parse(message.data(), message.size(), 0, &made) != ARES_SUCCESS) return complain(id, ARES_RCODE_FORMERR);
  const DnsRecord query(made);
  if (ares_dns_record_get_opcode(query.get()) != ARES_OPCODE_QUERY) return complain(id, ARES_RCODE_NOTIMP);
  if (ares_dns_record_query_cnt(query.get()) != 1) return complain(id, ARES_RCODE_FORMERR);
  const char* asked = nullptr;
  ares_dns_rec_type_t type{};
  ares_dns_class_t kind{};
  if (ares_dns_record_query_get(query.get(), 0, &asked, &type, &kind) != ARES_SUCCESS || asked == nullptr)
    return complain(id, ARES_RCODE_FORMERR);

  const auto name = lowered(asked);
  const bool ours = isOurselves(name);
  unsigned short flags = ARES_FLAG_QR | ARES_FLAG_RA;
  if ((ares_dns_record_get_flags(query.get()) & ARES_FLAG_RD) != 0) flags |= ARES_FLAG_RD;
  made = nullptr;
  if (ares_dns_record_create(&made, id, flags, ARES_OPCODE_QUERY, ours ? ARES_RCODE_NOERROR : ARES_RCODE_NXDOMAIN) !=
      ARES_SUCCESS)
    return std::nullopt;
  const DnsRecord reply(made);
  // The question goes back letter by letter: clients compare it.
  if (ares_dns_record_query_add(reply.get(), asked, type, kind) != ARES_SUCCESS)
    return complain(id, ARES_RCODE_FORMERR);
  if (ours && kind == ARES_CLASS_IN && (type == ARES_REC_TYPE_A || type == ARES_REC_TYPE_AAAA) &&
      !addLoopback(reply.get(), asked, type))
    return complain(id, ARES_RCODE_SERVFAIL);
  unsigned char* bytes = nullptr;
  std::size_t size = 0;
  if (ares_dns_write(reply.get(), &bytes, &size) != ARES_SUCCESS) return complain(id, ARES_RCODE_SERVFAIL);
  Answer answer{.bytes = {bytes, bytes + size}, .refusedName = ours ? std::string() : name};
  ares_free_string(bytes);
  return answer;
}

}  // namespace coffer::resolver
