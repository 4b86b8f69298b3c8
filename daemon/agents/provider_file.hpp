#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "agents/descriptor.hpp"

namespace coffer::agents {

/// One place with models, as `providers/NAME.toml` of the machine describes it. Keys are not here: they are added over
/// the bus.
struct ProviderFile {
  std::string name;
  std::string title;
  std::vector<ProviderKind> kinds;  ///< what may be asked there
  std::string baseUrl;              ///< http(s)://..., without a slash at the end; the default when one is added
  /// ADDRESS:PORT that gateways of this provider may reach although it is not a public one. Only an administrator's
  /// file can say so.
  std::vector<std::string> allowAddresses;
};

/// Reads one file. The error is one sentence that begins with `FILE:LINE: `.
std::expected<ProviderFile, std::string> readProvider(std::string_view text, std::string_view name,
                                                      std::string_view file);

}  // namespace coffer::agents
