#include "engine/uid_clash.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <string_view>
#include <vector>

#include <grp.h>
#include <pwd.h>

#include "engine/account_entry.hpp"
#include "engine/identities.hpp"

namespace coffer::engine {
namespace {

std::vector<std::string_view> fields(std::string_view line) {
  std::vector<std::string_view> parts;
  while (true) {
    const auto colon = line.find(':');
    parts.push_back(line.substr(0, colon));
    if (colon == std::string_view::npos) return parts;
    line.remove_prefix(colon + 1);
  }
}

std::optional<std::uint64_t> number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Lines NAME:...:FIRST[:COUNT]:..., with the first number in the field `at`.
std::optional<std::string> inFile(const model::UidRanges& ranges, const std::string& path, std::size_t at,
                                  bool counted) {
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    if (line.starts_with('#')) continue;
    const auto parts = fields(line);
    if (parts.size() <= at + (counted ? 1 : 0)) continue;
    const auto first = number(parts[at]);
    const auto count = counted ? number(parts[at + 1]) : std::optional<std::uint64_t>(1);
    if (!first || !count || *count == 0) continue;
    // Nothing of it may overflow: a count reaches at most to the end of all uids.
    const auto last = *first + std::min<std::uint64_t>(*count, std::uint64_t{1} << 32U) - 1;
    if (*first <= ranges.last() && last >= ranges.first())
      return path + " gives " + std::string(parts[at]) +
             (counted ? " and the " + std::string(parts[at + 1]) + " from it" : "") + " to " + std::string(parts[0]);
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> uidClashInFiles(const model::UidRanges& ranges, const IdFiles& files) {
  if (auto clash = inFile(ranges, files.passwd, 2, false)) return clash;
  if (auto clash = inFile(ranges, files.group, 2, false)) return clash;
  if (auto clash = inFile(ranges, files.subuid, 1, true)) return clash;
  return inFile(ranges, files.subgid, 1, true);
}

std::optional<std::string> uidClashByName(const model::UidRanges& ranges) {
  std::string buffer;
  for (const auto& part : ranges.parts()) {
    for (const auto id : {part.first, part.last}) {
      const auto user = look<passwd>([id](auto* into, char* bytes, std::size_t size,
                                          auto** found) { return ::getpwuid_r(id, into, bytes, size, found); },
                                     buffer);
      if (user && Identities::name(ranges, id) != user->pw_name)
        return "the uid " + std::to_string(id) + " belongs to " + user->pw_name;
      const auto group = look<struct group>([id](auto* into, char* bytes, std::size_t size,
                                                 auto** found) { return ::getgrgid_r(id, into, bytes, size, found); },
                                            buffer);
      if (group && Identities::name(ranges, id) != group->gr_name)
        return "the gid " + std::to_string(id) + " belongs to " + group->gr_name;
    }
  }
  return std::nullopt;
}

}  // namespace coffer::engine
