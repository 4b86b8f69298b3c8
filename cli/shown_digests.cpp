#include "shown_digests.hpp"

#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <format>
#include <fstream>
#include <sstream>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/fd.hpp"
#include "terminal.hpp"

namespace coffer::cli {

namespace {

/// Old entries are of tasks long done; a file of this many lines is 90 KB.
constexpr std::size_t kEntries = 1000;

std::vector<std::string> readLines(const std::string& file) {
  std::ifstream input(file);
  std::vector<std::string> lines;
  for (std::string line; std::getline(input, line);)
    lines.push_back(line);
  return lines;
}

}  // namespace

ShownDigests ShownDigests::ofUser() {
  if (const char* state = std::getenv("XDG_STATE_HOME"); state && *state == '/')
    return ShownDigests(std::string(state) + "/coffer/shown");
  if (const char* home = std::getenv("HOME"); home && *home == '/')
    return ShownDigests(std::string(home) + "/.local/state/coffer/shown");
  return ShownDigests("");
}

void ShownDigests::remember(std::string_view digest, std::uint64_t now) const {
  if (file_.empty() || digest.empty() || digest.find_first_of(" \n") != std::string_view::npos) return;
  const std::filesystem::path path(file_);
  std::error_code ignored;
  std::filesystem::create_directories(path.parent_path(), ignored);
  auto lines = readLines(file_);
  std::erase_if(lines, [&](const std::string& line) { return line.starts_with(std::string(digest) + " "); });
  lines.push_back(std::format("{} {}", digest, now));
  std::string text;
  for (std::size_t i = lines.size() > kEntries ? lines.size() - kEntries : 0; i < lines.size(); ++i)
    text += lines[i] + "\n";
  const auto next = file_ + ".new";
  {
    const Fd output(open(next.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!output || !writeAll(output.get(), text)) return;
  }
  std::filesystem::rename(next, file_, ignored);
}

std::optional<std::uint64_t> ShownDigests::when(std::string_view digest) const {
  if (file_.empty() || digest.empty()) return std::nullopt;
  const auto prefix = std::string(digest) + " ";
  for (const auto& line : readLines(file_)) {
    if (!line.starts_with(prefix)) continue;
    std::uint64_t when = 0;
    const char* begin = line.data() + prefix.size();
    if (std::from_chars(begin, line.data() + line.size(), when).ec == std::errc()) return when;
  }
  return std::nullopt;
}

}  // namespace coffer::cli
