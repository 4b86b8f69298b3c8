#include "engine/accounts.hpp"

#include <algorithm>
#include <cerrno>
#include <optional>

#include <grp.h>
#include <pwd.h>

namespace coffer::engine {
namespace {

// An entry of a group names all its members; more than this is one that cannot be told from a fault.
constexpr std::size_t kEntryMost = std::size_t{1} << 22U;

// Calls one of the getpwnam_r family with a buffer that is large enough.
template <class Entry, class Get>
std::optional<Entry> look(Get get, std::string& buffer) {
  buffer.resize(4096);
  while (true) {
    Entry entry{};
    Entry* found = nullptr;
    const int error = get(&entry, buffer.data(), buffer.size(), &found);
    if (error == EINTR) continue;
    if (error == ERANGE && buffer.size() < kEntryMost) {
      buffer.resize(buffer.size() * 2);
      continue;
    }
    if (error != 0 || found == nullptr) return std::nullopt;
    return entry;
  }
}

std::optional<std::uint32_t> userOf(const std::string& name) {
  std::string buffer;
  const auto entry = look<passwd>([&](auto* into, char* bytes, std::size_t size,
                                      auto** found) { return ::getpwnam_r(name.c_str(), into, bytes, size, found); },
                                  buffer);
  return entry ? std::optional(entry->pw_uid) : std::nullopt;
}

std::optional<std::uint32_t> groupOf(const std::string& name) {
  std::string buffer;
  const auto entry = look<group>([&](auto* into, char* bytes, std::size_t size,
                                     auto** found) { return ::getgrnam_r(name.c_str(), into, bytes, size, found); },
                                 buffer);
  return entry ? std::optional(entry->gr_gid) : std::nullopt;
}

std::string nameOfUser(std::uint32_t uid) {
  std::string buffer;
  const auto entry = look<passwd>([&](auto* into, char* bytes, std::size_t size,
                                      auto** found) { return ::getpwuid_r(uid, into, bytes, size, found); },
                                  buffer);
  return entry ? entry->pw_name : std::to_string(uid);
}

std::string nameOfGroup(std::uint32_t gid) {
  std::string buffer;
  const auto entry = look<group>([&](auto* into, char* bytes, std::size_t size,
                                     auto** found) { return ::getgrgid_r(gid, into, bytes, size, found); },
                                 buffer);
  return entry ? entry->gr_name : std::to_string(gid);
}

std::vector<gid_t> groupsOf(uid_t user) {
  std::string buffer;
  const auto entry = look<passwd>([&](auto* into, char* bytes, std::size_t size,
                                      auto** found) { return ::getpwuid_r(user, into, bytes, size, found); },
                                  buffer);
  if (!entry) return {};
  int count = 64;
  std::vector<gid_t> groups(static_cast<std::size_t>(count));
  if (::getgrouplist(entry->pw_name, entry->pw_gid, groups.data(), &count) < 0) {
    groups.resize(static_cast<std::size_t>(count));
    if (::getgrouplist(entry->pw_name, entry->pw_gid, groups.data(), &count) < 0) return {};
  }
  groups.resize(static_cast<std::size_t>(count));
  return groups;
}

}  // namespace

std::expected<Accounts, Error> accountsOf(const std::vector<std::string>& names) {
  Accounts accounts;
  for (const auto& name : names) {
    const bool group = name.starts_with('%');
    const auto word = name.substr(group ? 1 : 0);
    if (word.empty() || word.find('\0') != std::string::npos)
      return std::unexpected(
          Error{ErrorCode::InvalidArgument, "a user is named alice, a group %developers, not \"" + name + "\""});
    const auto id = group ? groupOf(word) : userOf(word);
    if (!id)
      return std::unexpected(Error{ErrorCode::NotFound, std::string("there is no ") + (group ? "group " : "user ") +
                                                            word + " on this machine: getent " +
                                                            (group ? "group" : "passwd") + " tells who there is"});
    auto& list = group ? accounts.groups : accounts.users;
    if (std::ranges::find(list, *id) == list.end()) list.push_back(*id);
  }
  return accounts;
}

std::vector<std::string> namesOf(const Accounts& accounts) {
  std::vector<std::string> names;
  for (const auto user : accounts.users)
    names.push_back(nameOfUser(user));
  for (const auto group : accounts.groups)
    names.push_back("%" + nameOfGroup(group));
  return names;
}

bool isUser(uid_t user) {
  std::string buffer;
  return look<passwd>([&](auto* into, char* bytes, std::size_t size,
                          auto** found) { return ::getpwuid_r(user, into, bytes, size, found); },
                      buffer)
      .has_value();
}

bool holds(const Accounts& accounts, uid_t user) {
  if (std::ranges::find(accounts.users, user) != accounts.users.end()) return true;
  if (accounts.groups.empty()) return false;
  return std::ranges::any_of(
      groupsOf(user), [&](gid_t group) { return std::ranges::find(accounts.groups, group) != accounts.groups.end(); });
}

}  // namespace coffer::engine
