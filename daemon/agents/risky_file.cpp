#include "agents/risky_file.hpp"

#include "agents/toml_reader.hpp"

namespace coffer::agents {

std::expected<RiskyFile, std::string> readRisky(std::string_view text, std::string_view /*name*/,
                                                std::string_view file) {
  const auto document = parseToml(text, file);
  if (!document) return std::unexpected(document.error());
  TomlReader::Fault fault{std::string(file), {}};
  TomlReader reader(*document, "", fault);
  RiskyFile result;
  result.title = reader.text("title");
  result.paths = reader.texts("paths");
  if (result.paths.empty()) reader.fail(reader.line("paths"), "paths is missing or empty");
  for (const auto& path : result.paths)
    if (path.empty() || path.front() == '/' || path.front() == ':' || path.find('\0') != std::string::npos)
      reader.fail(reader.line("paths"), "a risky path is a pattern below the top folder, such as **/Makefile: " + path);
  reader.finish();
  if (fault) return std::unexpected(fault.text);
  return result;
}

}  // namespace coffer::agents
