#include "api/object.hpp"

#include <array>
#include <charconv>
#include <cstdlib>
#include <memory>

#include <systemd/sd-bus.h>

#include "dbus/names.hpp"

namespace coffer::api {
namespace {

std::optional<std::uint64_t> idOf(std::string_view text) {
  std::uint64_t id = 0;
  if (text.empty() || text.front() == '0') return std::nullopt;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return id;
}

std::optional<std::string> agentOf(std::string_view path) {
  char* name = nullptr;
  if (sd_bus_path_decode(std::string(path).c_str(), std::string(names::kAgentPath).c_str(), &name) <= 0)
    return std::nullopt;
  const std::unique_ptr<char, decltype(&std::free)> owned(name, &std::free);
  return std::string(name);
}

}  // namespace

std::optional<ObjectKind> Object::owned() const {
  switch (kind) {
    case Kind::Task:
      return ObjectKind::Task;
    case Kind::Project:
      return ObjectKind::Project;
    case Kind::Provider:
      return ObjectKind::Provider;
    default:
      return std::nullopt;
  }
}

std::optional<Object> objectAt(std::string_view path) {
  static constexpr auto kOwned = std::to_array<std::pair<std::string_view, Object::Kind>>({
      {names::kTaskPath, Object::Kind::Task},
      {names::kProjectPath, Object::Kind::Project},
      {names::kProviderPath, Object::Kind::Provider},
  });
  static constexpr auto kBranches =
      std::to_array<std::string_view>({"/", "/org", "/org/cofferdam", "/org/freedesktop", names::kAgentPath});
  if (path == names::kRootPath) return Object{.kind = Object::Kind::Root};
  if (path == names::kLogControlPath) return Object{.kind = Object::Kind::LogControl};
  for (const auto branch : kBranches)
    if (path == branch) return Object{};
  for (const auto& [prefix, kind] : kOwned) {
    if (path == prefix) return Object{};
    if (!path.starts_with(prefix) || path[prefix.size()] != '/') continue;
    const auto id = idOf(path.substr(prefix.size() + 1));
    if (!id) return std::nullopt;
    return Object{.kind = kind, .id = *id};
  }
  if (path.starts_with(names::kAgentPath))
    if (auto name = agentOf(path)) return Object{.kind = Object::Kind::Agent, .name = std::move(*name)};
  return std::nullopt;
}

ObjectPath pathOf(ObjectKind kind, std::uint64_t id) {
  const auto prefix = kind == ObjectKind::Task      ? names::kTaskPath
                      : kind == ObjectKind::Project ? names::kProjectPath
                                                    : names::kProviderPath;
  return {std::string(prefix) + "/" + std::to_string(id)};
}

ObjectPath pathOfAgent(const std::string& name) {
  char* path = nullptr;
  if (sd_bus_path_encode(std::string(names::kAgentPath).c_str(), name.c_str(), &path) < 0)
    return {std::string(names::kAgentPath) + "/_"};
  const std::unique_ptr<char, decltype(&std::free)> owned(path, &std::free);
  return {std::string(path)};
}

}  // namespace coffer::api
