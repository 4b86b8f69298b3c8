#include "agents/provider_file.hpp"

#include <algorithm>
#include <charconv>

#include <arpa/inet.h>

#include "agents/toml_reader.hpp"

namespace coffer::agents {
namespace {

/// `127.0.0.1:8099` or `[::1]:8099`: a literal address, so that nothing has to be looked up to know what is allowed.
bool isAddressAndPort(const std::string& text) {
  const auto colon = text.rfind(':');
  if (colon == std::string::npos) return false;
  auto host = text.substr(0, colon);
  std::uint16_t port = 0;
  const char* last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data() + colon + 1, last, port);
  if (error != std::errc{} || end != last || port == 0) return false;
  in6_addr address{};
  if (host.starts_with('[') && host.ends_with(']'))
    return ::inet_pton(AF_INET6, host.substr(1, host.size() - 2).c_str(), &address) == 1;
  return ::inet_pton(AF_INET, host.c_str(), &address) == 1;
}

bool isBaseUrl(std::string_view url) {
  const bool web = url.starts_with("https://") || url.starts_with("http://");
  return web && !url.ends_with('/') && std::ranges::all_of(url, [](char c) {
           return c > ' ' && c < 0x7f && c != '"' && c != '\\' && c != '?' && c != '#';
         });
}

}  // namespace

std::expected<ProviderFile, std::string> readProvider(std::string_view text, std::string_view name,
                                                      std::string_view file) {
  const auto document = parseToml(text, file);
  if (!document) return std::unexpected(document.error());
  TomlReader::Fault fault{std::string(file), {}};
  TomlReader reader(*document, "", fault);

  ProviderFile result;
  result.name = name;
  result.title = reader.text("title");
  for (const auto& word : reader.texts("kinds")) {
    const auto* entry = std::ranges::find(kProviderKinds, word, &std::pair<ProviderKind, std::string_view>::second);
    if (entry == kProviderKinds.end() || entry->first == ProviderKind::None)
      reader.fail(reader.line("kinds"), "unknown provider kind " + word);
    else
      result.kinds.push_back(entry->first);
  }
  if (result.kinds.empty()) reader.fail(reader.line("kinds"), "kinds is missing");
  result.baseUrl = reader.text("base-url");
  if (!result.baseUrl.empty() && !isBaseUrl(result.baseUrl))
    reader.fail(reader.line("base-url"), "base-url must begin with https:// or http:// and not end with a slash");
  result.allowAddresses = reader.texts("allow-addresses");
  for (const auto& address : result.allowAddresses)
    if (!isAddressAndPort(address))
      reader.fail(reader.line("allow-addresses"),
                  "an allowed address is ADDRESS:PORT with a literal address: " + address);
  reader.finish();
  if (fault) return std::unexpected(fault.text);
  return result;
}

}  // namespace coffer::agents
