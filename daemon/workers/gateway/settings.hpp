#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "dbus/error.hpp"
#include "workers/gateway/protocol.hpp"
#include "workers/record.hpp"

namespace coffer::gateway {

/// Which header carries the real key. By protocol: x-api-key for anthropic, Authorization: Bearer for the others.
enum class KeyHeader { ByProtocol, Bearer, ApiKey };

/// The one place a run's key may be sent to.
struct BaseUrl {
  bool tls = true;
  std::string host;  ///< a name, or an address without brackets
  std::uint16_t port = 443;
  std::string path;  ///< without a trailing slash; ends with a version ("/v1") or gets one
};

/// An address that an administrator named.
struct Endpoint {
  std::string address;
  std::uint16_t port = 0;
};

/// A gateway's request, checked.
struct Settings {
  BaseUrl base;
  std::set<Protocol> protocols;
  std::string dummyKey;  ///< what the sandbox must send
  KeyHeader keyHeader = KeyHeader::ByProtocol;
  /// Of the base URL; when there are some, exactly these are dialled and no name is looked up.
  std::vector<Endpoint> addresses;
  std::optional<std::uint64_t> budget;  ///< tokens of all classes, over the whole run
  std::size_t requestBytes = 0;
};

/// Reads `/in/request`. Keys: base-url, kind (1..3), dummy-key, header (bearer|x-api-key), address (0..8), budget,
/// request-bytes. Anything else, twice what may be there once, or a value that makes no sense is InvalidArgument.
std::expected<Settings, Error> parseSettings(const Records& request);

/// A key fits into a header: 1 to kGatewayKeyBytes visible ASCII characters.
bool isKey(std::string_view text);

}  // namespace coffer::gateway
