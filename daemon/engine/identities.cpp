#include "engine/identities.hpp"

#include <array>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/beneath.hpp"

namespace coffer::engine {
namespace {

std::expected<void, Error> link(int directory, const std::string& target, const std::string& name) {
  if (::symlinkat(target.c_str(), directory, name.c_str()) == 0 || errno == EEXIST) return {};
  return std::unexpected(
      Error{ErrorCode::Environment, "cannot announce the user " + target + ": " + std::strerror(errno)});
}

}  // namespace

std::string Identities::name(const model::UidRanges& ranges, std::uint32_t uid) {
  for (const auto& range : ranges.parts())
    if (range.holds(uid)) return "coffer-" + std::string(1, range.name.front()) + std::to_string(uid - range.first);
  return "coffer-x" + std::to_string(uid);
}

std::expected<sandbox::Identity, Error> Identities::announce(std::uint32_t uid) const {
  ::mkdir(directory_.c_str(), 0755);
  auto directory = os::openDirectory(directory_);
  if (!directory) return std::unexpected(Error{ErrorCode::Environment, directory.error().message});
  const auto user = name(ranges_, uid);
  const auto number = std::to_string(uid);
  const std::string userRecord =
      R"({"userName":")" + user + R"(","uid":)" + number + R"(,"gid":)" + number +
      R"(,"homeDirectory":"/home/agent","shell":"/usr/sbin/nologin","disposition":"system","locked":true})"
      "\n";
  const std::string groupRecord = R"({"groupName":")" + user + R"(","gid":)" + number +
                                  R"(,"disposition":"system"})"
                                  "\n";
  for (const auto& [file, bytes] : std::array<std::pair<std::string, const std::string*>, 2>{
           {{user + ".user", &userRecord}, {user + ".group", &groupRecord}}}) {
    struct stat status{};
    if (::fstatat(directory->get(), file.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0) continue;
    if (auto written = os::writeFile(directory->get(), file, *bytes, 0644); !written)
      return std::unexpected(Error{ErrorCode::Environment, written.error().message});
  }
  if (auto made = link(directory->get(), user + ".user", number + ".user"); !made) return std::unexpected(made.error());
  if (auto made = link(directory->get(), user + ".group", number + ".group"); !made)
    return std::unexpected(made.error());
  return sandbox::Identity{uid, user};
}

void Identities::withdraw(std::uint32_t uid) const {
  auto directory = os::openDirectory(directory_);
  if (!directory) return;
  const auto user = name(ranges_, uid);
  const auto number = std::to_string(uid);
  for (const auto& file : {number + ".user", number + ".group", user + ".user", user + ".group"})
    ::unlinkat(directory->get(), file.c_str(), 0);
}

}  // namespace coffer::engine
