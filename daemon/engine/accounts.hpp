#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <vector>

#include <sys/types.h>

#include "dbus/error.hpp"

/// Users and groups of the machine, as its name service switch (nss(5)) knows them now.
namespace coffer::engine {

/// Who may do something: users and groups by number.
struct Accounts {
  std::vector<std::uint32_t> users;
  std::vector<std::uint32_t> groups;
};

/// "alice" is a user, "%developers" a group. Errors: NotFound, InvalidArgument.
std::expected<Accounts, Error> accountsOf(const std::vector<std::string>& names);

/// The same the other way round; one that is not known any more is its number.
std::vector<std::string> namesOf(const Accounts& accounts);

/// Whether there is such a user on the machine now.
bool isUser(uid_t user);

/// Whether the user is one of them, or in one of the groups.
bool holds(const Accounts& accounts, uid_t user);

}  // namespace coffer::engine
