#include "workers/gateway/settings.hpp"

#include <algorithm>
#include <boost/asio/ip/address.hpp>
#include <boost/url.hpp>

#include "model/limits.hpp"

namespace coffer::gateway {

namespace {

constexpr std::size_t kAddresses = 8;

std::unexpected<Error> invalid(std::string message) {
  return std::unexpected(Error{ErrorCode::InvalidArgument, std::move(message)});
}

std::expected<BaseUrl, Error> parseBaseUrl(std::string_view text) {
  const auto parsed = boost::urls::parse_uri(text);
  if (!parsed) return invalid("base-url is not a URL");
  const auto& url = *parsed;
  const bool tls = url.scheme_id() == boost::urls::scheme::https;
  if (!tls && url.scheme_id() != boost::urls::scheme::http) return invalid("base-url must be https or http");
  if (url.has_userinfo() || url.has_query() || url.has_fragment())
    return invalid("base-url must have no user, query or fragment");
  BaseUrl base;
  base.tls = tls;
  base.host = std::string(url.host_address());
  if (base.host.empty()) return invalid("base-url has no host");
  if (url.has_port() && url.port_number() == 0) return invalid("base-url has no usable port");
  base.port = url.has_port() ? url.port_number() : std::uint16_t{tls ? std::uint16_t{443} : std::uint16_t{80}};
  base.path = std::string(url.encoded_path());
  while (base.path.ends_with('/'))
    base.path.pop_back();
  if (base.path.contains("//") || base.path.contains("/.") || base.path.contains('%'))
    return invalid("base-url's path must be plain");
  return base;
}

std::expected<Endpoint, Error> parseEndpoint(std::string_view text) {
  const auto parsed = boost::urls::parse_authority(text);
  if (!parsed || parsed->has_userinfo() || parsed->port_number() == 0 ||
      (parsed->host_type() != boost::urls::host_type::ipv4 && parsed->host_type() != boost::urls::host_type::ipv6))
    return invalid("address must be ADDRESS:PORT, with an IPv6 address in brackets");
  return Endpoint{std::string(parsed->host_address()), parsed->port_number()};
}

/// Whether a request to the base URL may be one to this address.
bool belongsTo(const Endpoint& endpoint, const BaseUrl& base) {
  boost::system::error_code error;
  const auto host = boost::asio::ip::make_address(base.host, error);
  return endpoint.port == base.port && (error || host == boost::asio::ip::make_address(endpoint.address));
}

std::expected<void, Error> checkKeys(const Records& request) {
  static constexpr std::string_view kOnce[] = {"base-url", "dummy-key", "header", "budget", "request-bytes"};
  for (const auto& record : request.list()) {
    if (record.key == "kind" || record.key == "address") continue;
    if (!std::ranges::contains(kOnce, record.key)) return invalid("unknown key " + record.key);
    if (request.all(record.key).size() > 1) return invalid("more than one " + record.key);
  }
  return {};
}

}  // namespace

bool isKey(std::string_view text) {
  return !text.empty() && text.size() <= limits::kGatewayKeyBytes &&
         std::ranges::all_of(text, [](char c) { return c > ' ' && c < 0x7f; });
}

std::expected<Settings, Error> parseSettings(const Records& request) {
  if (auto checked = checkKeys(request); !checked) return std::unexpected(checked.error());
  Settings settings;
  auto base = parseBaseUrl(request.get("base-url"));
  if (!base) return std::unexpected(base.error());
  settings.base = *std::move(base);

  for (const auto kind : request.all("kind")) {
    const auto protocol = protocolOf(kind);
    if (!protocol) return invalid("unknown kind " + std::string(kind.substr(0, 64)));
    settings.protocols.insert(*protocol);
  }
  if (settings.protocols.empty()) return invalid("no kind");

  settings.dummyKey = request.get("dummy-key");
  if (!isKey(settings.dummyKey)) return invalid("dummy-key is missing or not printable");

  const auto header = request.get("header");
  if (header == "bearer")
    settings.keyHeader = KeyHeader::Bearer;
  else if (header == "x-api-key")
    settings.keyHeader = KeyHeader::ApiKey;
  else if (request.has("header"))
    return invalid("header must be bearer or x-api-key");

  if (request.all("address").size() > kAddresses) return invalid("too many addresses");
  for (const auto address : request.all("address")) {
    auto endpoint = parseEndpoint(address);
    if (!endpoint) return std::unexpected(endpoint.error());
    // The others belong to other URLs of the same kind, and this one's key is none of theirs.
    if (belongsTo(*endpoint, settings.base)) settings.addresses.push_back(*std::move(endpoint));
  }
  // Without TLS nothing proves who answers, so the key goes in the clear only where an administrator pointed.
  if (!settings.base.tls && settings.addresses.empty())
    return invalid("base-url without TLS needs an address that an administrator named");

  if (request.has("budget")) {
    settings.budget = request.number("budget", UINT64_MAX);
    if (*settings.budget == UINT64_MAX) return invalid("budget is not a number of tokens");
  }
  settings.requestBytes = request.number("request-bytes", limits::kGatewayRequestBytes);
  if (settings.requestBytes == 0 || settings.requestBytes > limits::kGatewayRequestBytes)
    return invalid("request-bytes is out of range");
  return settings;
}

}  // namespace coffer::gateway
