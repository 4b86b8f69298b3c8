#include "engine/host_rules.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>

#include <arpa/inet.h>

#include "model/limits.hpp"
#include "os/log.hpp"

namespace coffer::engine {
namespace {

// Three is what the resolver of glibc reads.
constexpr std::size_t kNameServers = 3;

bool parseAddress(std::string_view text, walls::HostEntry& entry) {
  const std::string address(text);
  if (::inet_pton(AF_INET, address.c_str(), entry.address.data()) == 1) {
    entry.family = 4;
    return true;
  }
  entry.address = {};
  if (::inet_pton(AF_INET6, address.c_str(), entry.address.data()) == 1) {
    entry.family = 6;
    return true;
  }
  return false;
}

std::optional<std::uint16_t> parsePort(std::string_view text) {
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc{} || end != text.data() + text.size() || port == 0) return std::nullopt;
  return port;
}

struct Place {
  bool tls;
  std::string_view host;  ///< an IPv6 address without its brackets
  std::string_view port;  ///< as it is written, or empty
};

std::optional<Place> placeOf(std::string_view url) {
  const bool tls = url.starts_with("https://");
  if (!tls && !url.starts_with("http://")) return std::nullopt;
  url.remove_prefix(tls ? 8 : 7);
  url = url.substr(0, url.find_first_of("/?#"));
  const auto bracket = url.rfind(']');
  const auto colon = url.rfind(':');
  const bool named = colon != std::string_view::npos && (bracket == std::string_view::npos || colon > bracket);
  auto host = named ? url.substr(0, colon) : url;
  if (named && colon + 1 == url.size()) return std::nullopt;
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  return Place{.tls = tls, .host = host, .port = named ? url.substr(colon + 1) : std::string_view{}};
}

void addOnce(std::vector<walls::HostEntry>& entries, const walls::HostEntry& entry) {
  if (std::ranges::find(entries, entry) == entries.end()) entries.push_back(entry);
}

void cut(std::vector<walls::HostEntry>& entries, const std::string& what) {
  if (entries.size() <= limits::kHostEntries) return;
  log::error("there are " + std::to_string(entries.size()) + " " + what + ", and the host's table holds " +
             std::to_string(limits::kHostEntries) +
             ": the last of them are not reached. Remove providers that nobody needs; then systemctl reload cofferd");
  entries.resize(limits::kHostEntries);
}

}  // namespace

std::optional<std::uint16_t> portOf(std::string_view url) {
  const auto place = placeOf(url);
  if (!place) return std::nullopt;
  if (!place->port.empty()) return parsePort(place->port);
  return static_cast<std::uint16_t>(place->tls ? 443 : 80);
}

bool mayCarryKey(std::string_view url, const std::vector<std::string>& namedAddresses) {
  const auto place = placeOf(url);
  const auto port = portOf(url);
  if (!place || !port) return false;
  if (place->tls) return true;
  walls::HostEntry host;
  const bool literal = parseAddress(place->host, host);
  return std::ranges::any_of(namedAddresses, [&](const auto& text) {
    const auto named = parseAddressAndPort(text);
    // A name may have any of the addresses.
    return named && named->port == *port &&
           (!literal || (named->family == host.family && named->address == host.address));
  });
}

std::expected<walls::HostEntry, Error> parseAddressAndPort(std::string_view text) {
  walls::HostEntry entry;
  const auto colon = text.rfind(':');
  auto address = text.substr(0, colon);
  if (address.starts_with('[') && address.ends_with(']')) address = address.substr(1, address.size() - 2);
  const auto port = colon == std::string_view::npos ? std::nullopt : parsePort(text.substr(colon + 1));
  if (!port || !parseAddress(address, entry))
    return std::unexpected(Error{ErrorCode::InvalidArgument, std::string(text) + " is not ADDRESS:PORT"});
  entry.port = *port;
  return entry;
}

std::vector<walls::HostEntry> gatewayPorts(const std::vector<std::string>& baseUrls) {
  std::vector<walls::HostEntry> ports;
  for (const auto& url : baseUrls) {
    walls::HostEntry entry;
    if (const auto port = portOf(url)) {
      entry.port = *port;
      addOnce(ports, entry);
    }
  }
  return ports;
}

std::expected<void, Error> applyHostRules(walls::WallsClient& walls, std::string_view resolvConf,
                                          const std::vector<std::string>& baseUrls,
                                          const std::vector<std::string>& namedAddresses) {
  std::vector<walls::HostEntry> servers;
  while (!resolvConf.empty() && servers.size() < kNameServers) {
    const auto end = resolvConf.find('\n');
    auto line = resolvConf.substr(0, end);
    resolvConf.remove_prefix(end == std::string_view::npos ? resolvConf.size() : end + 1);
    if (!line.starts_with("nameserver")) continue;
    line.remove_prefix(10);
    const auto first = line.find_first_not_of(" \t");
    if (first == std::string_view::npos) continue;
    line = line.substr(first, line.find_first_of(" \t%", first) - first);
    walls::HostEntry entry;
    if (!parseAddress(line, entry)) continue;
    entry.port = 53;
    addOnce(servers, entry);
  }
  auto ports = gatewayPorts(baseUrls);
  std::vector<walls::HostEntry> exact;
  for (const auto& text : namedAddresses) {
    auto entry = parseAddressAndPort(text);
    if (!entry) return std::unexpected(entry.error());
    addOnce(exact, *entry);
  }
  // What does not fit is not let out; everybody else's is.
  cut(ports, "ports of providers");
  cut(exact, "addresses in allow-addresses of providers");
  if (auto set = walls.hostReplace(walls::HostSetKind::DnsServers, servers); !set) return set;
  if (auto set = walls.hostReplace(walls::HostSetKind::GatewayPorts, ports); !set) return set;
  return walls.hostReplace(walls::HostSetKind::GatewayExact, exact);
}

}  // namespace coffer::engine
