#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace coffer::resolver {

/// What the resolver says to one message.
struct Answer {
  std::vector<std::uint8_t> bytes;  ///< the reply, in wire format
  std::string refusedName;          ///< the name that was refused, lower case, escaped; empty when none was
};

/// Answers one DNS message without asking anybody: names of this machine get its loopback addresses, every other name
/// does not exist. NXDOMAIN, not REFUSED, because resolvers take REFUSED as "ask somebody else" and lose seconds.
/// Nothing for what is no query (a reply, no header): silence is what such a message deserves.
/// A message that is a query but not one plain question is answered with FORMERR or NOTIMP.
std::optional<Answer> answer(std::span<const std::uint8_t> message);

}  // namespace coffer::resolver
