#include "workers/repository/tree_rules.hpp"

#include <algorithm>
#include <array>
#include <unordered_map>

namespace coffer::repository {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; }

/// HFS+ drops these when it compares names: U+200C-200F, U+202A-202E, U+206A-206F, U+FEFF.
std::string withoutIgnorables(std::string_view name) {
  std::string result;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const auto byte = [&](std::size_t at) { return at < name.size() ? static_cast<unsigned char>(name[at]) : 0U; };
    if (byte(i) == 0xE2 && byte(i + 1) == 0x80 &&
        ((byte(i + 2) >= 0x8C && byte(i + 2) <= 0x8F) || (byte(i + 2) >= 0xAA && byte(i + 2) <= 0xAE))) {
      i += 2;
    } else if (byte(i) == 0xE2 && byte(i + 1) == 0x81 && byte(i + 2) >= 0xAA && byte(i + 2) <= 0xAF) {
      i += 2;
    } else if (byte(i) == 0xEF && byte(i + 1) == 0xBB && byte(i + 2) == 0xBF) {
      i += 2;
    } else {
      result += name[i];
    }
  }
  return result;
}

bool isDotGitPart(std::string_view part) {
  part = part.substr(0, part.find(':'));
  while (!part.empty() && (part.back() == '.' || part.back() == ' '))
    part.remove_suffix(1);
  const auto name = folded(part);
  return name == ".git" || (name.size() == 5 && name.starts_with("git~") && name[4] >= '0' && name[4] <= '9');
}

}  // namespace

std::string folded(std::string_view name) {
  std::string result(name);
  std::ranges::transform(result, result.begin(), lower);
  return result;
}

bool isDotGit(std::string_view name) {
  const auto plain = withoutIgnorables(name);
  for (std::size_t at = 0; at <= plain.size();) {
    const auto end = std::min(plain.find('\\', at), plain.size());
    if (isDotGitPart(std::string_view(plain).substr(at, end - at))) return true;
    at = end + 1;
  }
  return false;
}

TreeVerdict examineTreeObject(std::string_view bytes, bool plain_modes) {
  constexpr std::array<std::string_view, 5> kModes = {"100644", "100755", "120000", "40000", "160000"};
  constexpr std::array<std::string_view, 3> kOldModes = {"100664", "040000", "100640"};
  TreeVerdict verdict;
  std::unordered_map<std::string, std::string_view> seen;
  while (!bytes.empty()) {
    const auto space = bytes.find(' ');
    const auto end = bytes.find('\0');
    if (space == std::string_view::npos || end == std::string_view::npos || space > end || bytes.size() - end < 21) {
      verdict.refused = "a tree object is broken";
      return verdict;
    }
    const auto mode = bytes.substr(0, space);
    const auto name = bytes.substr(space + 1, end - space - 1);
    bytes.remove_prefix(end + 21);
    if (std::ranges::find(kModes, mode) == kModes.end() &&
        (plain_modes || std::ranges::find(kOldModes, mode) == kOldModes.end())) {
      verdict.refused = "a tree holds an entry of mode " + std::string(mode.substr(0, 12));
    } else if (name.empty() || name == "." || name == ".." || name.contains('/')) {
      verdict.refused = "a tree holds a name that is no name";
    } else if (isDotGit(name)) {
      verdict.refused = "a tree holds .git, or a name that is .git on some file system";
    } else {
      const auto [other, fresh] = seen.emplace(folded(name), name);
      if (fresh) continue;
      if (other->second == name) {
        verdict.refused = "a tree holds one name twice";
      } else {
        verdict.collisions.emplace_back(name);
        continue;
      }
    }
    return verdict;
  }
  return verdict;
}

}  // namespace coffer::repository
