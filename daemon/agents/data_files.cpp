#include "agents/data_files.hpp"

#include <algorithm>
#include <cstring>
#include <map>

#include <fcntl.h>
#include <sys/stat.h>

#include "model/limits.hpp"
#include "os/fd.hpp"

namespace coffer::agents {
namespace {

bool isName(std::string_view name) {
  return !name.empty() && name.size() <= 31 && name.front() != '-' &&
         std::ranges::all_of(name, [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; });
}

}  // namespace

std::vector<DataFile> listDataFiles(const std::vector<std::filesystem::path>& folders, std::string_view extension,
                                    std::vector<std::string>& problems) {
  std::map<std::string, DataFile> found;
  bool first = true;
  for (const auto& folder : folders) {
    std::error_code error;
    std::filesystem::directory_iterator entries(folder, error);
    for (; !error && entries != std::filesystem::directory_iterator(); entries.increment(error)) {
      const auto& path = entries->path();
      if (path.extension().string() != extension || path.filename().string().starts_with('.')) continue;
      auto name = path.stem().string();
      if (!isName(name))
        problems.push_back(path.string() + ":1: a name has 1 to 31 characters of a-z, 0-9 and dash");
      else
        found.insert_or_assign(name, DataFile{name, path, !first});
    }
    if (error && error != std::errc::no_such_file_or_directory)
      problems.push_back(folder.string() + ":1: cannot be read: " + error.message());
    first = false;
  }
  std::vector<DataFile> result;
  result.reserve(found.size());
  for (auto& [name, file] : found)
    result.push_back(std::move(file));
  return result;
}

std::expected<std::string, std::string> readDataFile(const std::filesystem::path& path) {
  const auto fault = [&](const std::string& what) { return std::unexpected(path.string() + ":1: " + what); };
  // A pipe in place of a file must not hold the daemon up.
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!file) return fault(std::string("cannot be opened: ") + std::strerror(errno));
  struct stat status{};
  if (::fstat(file.get(), &status) != 0) return fault(std::string("cannot be read: ") + std::strerror(errno));
  // A link to /dev/null takes a name away, as it does for units.
  if (S_ISCHR(status.st_mode)) return std::string();
  if (!S_ISREG(status.st_mode)) return fault("is not a regular file");
  std::string text;
  std::string block(64 * 1024, '\0');
  while (true) {
    const auto size = ::read(file.get(), block.data(), block.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return fault(std::string("cannot be read: ") + std::strerror(errno));
    if (size == 0) return text;
    text.append(block, 0, static_cast<std::size_t>(size));
    if (text.size() > limits::kDataFileBytes)
      return fault("is longer than " + std::to_string(limits::kDataFileBytes) + " bytes");
  }
}

}  // namespace coffer::agents
