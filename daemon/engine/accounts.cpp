#include "engine/accounts.hpp"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>

#include <grp.h>
#include <pwd.h>

#include "engine/account_entry.hpp"

namespace coffer::engine {
namespace {

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

std::optional<std::string> nameOfUser(std::uint32_t uid) {
  std::string buffer;
  const auto entry = look<passwd>([&](auto* into, char* bytes, std::size_t size,
                                      auto** found) { return ::getpwuid_r(uid, into, bytes, size, found); },
                                  buffer);
  return entry ? std::optional<std::string>(entry->pw_name) : std::nullopt;
}

std::optional<std::string> nameOfGroup(std::uint32_t gid) {
  std::string buffer;
  const auto entry = look<group>([&](auto* into, char* bytes, std::size_t size,
                                     auto** found) { return ::getgrgid_r(gid, into, bytes, size, found); },
                                 buffer);
  return entry ? std::optional<std::string>(entry->gr_name) : std::nullopt;
}

}  // namespace

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

std::string AccountNames::user(std::uint32_t uid) const {
  const auto found = users.find(uid);
  return found == users.end() ? std::to_string(uid) : found->second;
}

std::string AccountNames::group(std::uint32_t gid) const {
  const auto found = groups.find(gid);
  return found == groups.end() ? std::to_string(gid) : found->second;
}

std::vector<std::string> AccountNames::of(const Accounts& accounts) const {
  std::vector<std::string> names;
  for (const auto each : accounts.users)
    names.push_back(user(each));
  for (const auto each : accounts.groups)
    names.push_back("%" + group(each));
  return names;
}

AccountNames namesOf(const Accounts& accounts) {
  AccountNames names;
  for (const auto each : accounts.users)
    if (auto name = nameOfUser(each)) names.users[each] = std::move(*name);
  for (const auto each : accounts.groups)
    if (auto name = nameOfGroup(each)) names.groups[each] = std::move(*name);
  return names;
}

std::optional<std::string> nameInFile(uid_t user, const std::string& file) {
  const auto close = [](std::FILE* stream) { std::fclose(stream); };
  const std::unique_ptr<std::FILE, decltype(close)> stream(std::fopen(file.c_str(), "re"), close);
  if (!stream) return std::nullopt;
  std::string buffer(std::size_t{64} * 1024, '\0');
  passwd entry{};
  passwd* found = nullptr;
  while (::fgetpwent_r(stream.get(), &entry, buffer.data(), buffer.size(), &found) == 0 && found != nullptr)
    if (found->pw_uid == user) return found->pw_name;
  return std::nullopt;
}

Async<std::expected<std::optional<std::string>, Error>> currentName(NameService& names, uid_t user) {
  if (auto name = nameInFile(user)) co_return name;
  std::function<std::optional<std::string>()> question = [user] { return nameOfUser(user); };
  co_return co_await names.ask(std::move(question));
}

bool holds(const Accounts& accounts, uid_t user, const std::vector<gid_t>& groups) {
  if (std::ranges::find(accounts.users, user) != accounts.users.end()) return true;
  return std::ranges::any_of(
      groups, [&](gid_t group) { return std::ranges::find(accounts.groups, group) != accounts.groups.end(); });
}

}  // namespace coffer::engine
