#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

namespace coffer::agents {

/// Paths of one sort that take effect outside of a build when they land: `risky/NAME.toml`.
struct RiskyFile {
  std::string title;
  /// As Git's pathspecs with the magic word "glob" (gitglossary(7)), without regard to case. One that ends with /**
  /// also means what stands there instead of the directory.
  std::vector<std::string> paths;
};

/// The error is one sentence that begins with `FILE:LINE: `.
std::expected<RiskyFile, std::string> readRisky(std::string_view text, std::string_view name, std::string_view file);

}  // namespace coffer::agents
