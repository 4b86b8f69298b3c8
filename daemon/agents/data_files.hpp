#pragma once

#include <expected>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace coffer::agents {

/// One file of a folder of data, after overriding.
struct DataFile {
  std::string name;  ///< without the extension
  std::filesystem::path path;
  bool overrides = false;  ///< not from the first folder
};

/// The files `*EXTENSION` (".toml") of the folders, a later folder's file hiding an earlier one's of the same name;
/// sorted by name. A folder that is not there is empty. Names that are not [a-z0-9-]{1,31} are reported in `problems`
/// and left out.
std::vector<DataFile> listDataFiles(const std::vector<std::filesystem::path>& folders, std::string_view extension,
                                    std::vector<std::string>& problems);

/// The whole file, at most limits::kDataFileBytes. The error is a sentence that names the file.
std::expected<std::string, std::string> readDataFile(const std::filesystem::path& path);

}  // namespace coffer::agents
