#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "agents/provider_file.hpp"
#include "dbus/error.hpp"
#include "walls/client.hpp"

namespace coffer::engine {

/// What the host table says our own uids may reach, from the machine's files: the servers of resolv.conf, the ports of
/// the providers' base URLs, and the addresses that an administrator named. Applied as a whole, each set in one
/// transaction. Of a set that is longer than limits::kHostEntries the rest is left out, and the journal is told.
std::expected<void, Error> applyHostRules(walls::WallsClient& walls, std::string_view resolvConf,
                                          const std::vector<std::string>& baseUrls,
                                          const std::vector<std::string>& namedAddresses);

/// The ports of these base URLs, each once, in their order, as entries of the host table.
std::vector<walls::HostEntry> gatewayPorts(const std::vector<std::string>& baseUrls);

/// "192.0.2.1:8080" or "[2001:db8::1]:8080" as an entry of the host table.
std::expected<walls::HostEntry, Error> parseAddressAndPort(std::string_view text);

/// The port of a base URL: named, or its scheme's; nothing for a URL that is none.
std::optional<std::uint16_t> portOf(std::string_view url);

/// Whether a key may go to this base URL as the gateway will see it: with TLS anywhere, without only where one of the
/// addresses that an administrator named (ADDRESS:PORT) belongs to it.
bool mayCarryKey(std::string_view url, const std::vector<std::string>& namedAddresses);

}  // namespace coffer::engine
