#pragma once

#include <cstdint>
#include <expected>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "dbus/error.hpp"
#include "engine/name_service.hpp"
#include "os/async.hpp"

/// Users and groups of the machine, as its name service switch (nss(5)) knows them now. What asks it blocks: these are
/// questions for NameService.
namespace coffer::engine {

/// Who may do something: users and groups by number.
struct Accounts {
  std::vector<std::uint32_t> users;
  std::vector<std::uint32_t> groups;
};

/// "alice" is a user, "%developers" a group. Errors: NotFound, InvalidArgument.
std::expected<Accounts, Error> accountsOf(const std::vector<std::string>& names);

/// Names of users and groups as they were known at some time.
struct AccountNames {
  std::map<std::uint32_t, std::string> users;
  std::map<std::uint32_t, std::string> groups;

  /// One that is not known is its number.
  [[nodiscard]] std::string user(std::uint32_t uid) const;
  [[nodiscard]] std::string group(std::uint32_t gid) const;
  /// As accountsOf() takes them.
  [[nodiscard]] std::vector<std::string> of(const Accounts& accounts) const;
};
AccountNames namesOf(const Accounts& accounts);

/// Who has this uid according to one file, as passwd(5); nothing when it names nobody. A file of the machine is read at
/// once, so this needs no NameService.
std::optional<std::string> nameInFile(uid_t user, const std::string& file = "/etc/passwd");

/// Who has this uid now, nothing when nobody has: by the machine's own file, else by its name service.
Async<std::expected<std::optional<std::string>, Error>> currentName(NameService& names, uid_t user);

/// The groups a user is in; none of one who is unknown.
std::vector<gid_t> groupsOf(uid_t user);

/// Whether the user is one of them, or in one of the groups. Asks nobody.
bool holds(const Accounts& accounts, uid_t user, const std::vector<gid_t>& groups);

}  // namespace coffer::engine
