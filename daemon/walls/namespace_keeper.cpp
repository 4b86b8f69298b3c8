#include "walls/namespace_keeper.hpp"

#include <array>
#include <utility>
#include <vector>

#include "model/limits.hpp"
#include "walls/mounts.hpp"
#include "walls/request.hpp"

namespace coffer::walls {

namespace {

/// The store's name of a part is PART.NAME.
constexpr std::array kParts = std::to_array<std::pair<std::string_view, Fd NetworkNamespace::*>>({
    {"ns", &NetworkNamespace::ns},
    {"model", &NetworkNamespace::model},
    {"dns-udp", &NetworkNamespace::dnsUdp},
    {"dns-tcp", &NetworkNamespace::dnsTcp},
});

std::string storeName(std::string_view part, std::string_view name) {
  return std::string(part) + "." + std::string(name);
}

void dropAll(std::string_view name) {
  for (const auto& [part, member] : kParts)
    FdStore::drop(storeName(part, name));
}

}  // namespace

NamespaceKeeper::NamespaceKeeper(FdStore& store) {
  std::vector<std::string> names;
  for (const auto& [key, fd] : store.kept())
    if (const auto dot = key.find('.'); dot != std::string::npos) names.push_back(key.substr(dot + 1));
  for (const std::string& name : names) {
    if (held_.contains(name)) continue;
    NetworkNamespace kept;
    bool whole = validName(name);
    for (const auto& [part, member] : kParts) {
      kept.*member = store.take(storeName(part, name));
      whole = whole && kept.*member;
    }
    if (whole)
      held_.emplace(name, std::move(kept));
    else
      dropAll(name);
  }
}

Result<const NetworkNamespace*> NamespaceKeeper::create(const RuntimeTree& tree, const std::string& name) {
  auto place = held_.find(name);
  if (place == held_.end()) {
    if (held_.size() >= limits::kNamespaces)
      return refuse(ErrorCode::Limit,
                    "there are " + std::to_string(limits::kNamespaces) + " network namespaces already");
    // A pin without its listeners is of no use: nothing can answer in it any more.
    if (auto cleared = tree.detach(Kind::Netns, name, true); !cleared) return std::unexpected(cleared.error());
    auto made = makeNetworkNamespace();
    if (!made) return std::unexpected(made.error());
    for (const auto& [part, member] : kParts)
      FdStore::put(storeName(part, name), ((*made).*member).get());
    place = held_.emplace(name, std::move(*made)).first;
  }
  if (!tree.mounted(Kind::Netns, name)) {
    auto pin = cloneNamespace(place->second.ns.get());
    if (!pin) return std::unexpected(pin.error());
    if (auto attached = tree.attach(Kind::Netns, name, pin->get()); !attached) return std::unexpected(attached.error());
  }
  return &place->second;
}

Result<void> NamespaceKeeper::remove(const RuntimeTree& tree, const std::string& name) {
  if (auto detached = tree.detach(Kind::Netns, name, true); !detached) return detached;
  if (held_.erase(name) != 0) dropAll(name);
  return {};
}

Result<const NetworkNamespace*> NamespaceKeeper::find(const std::string& name) const {
  const auto place = held_.find(name);
  if (place == held_.end()) return refuse(ErrorCode::NotFound, "there is no network namespace `" + name + "`");
  return &place->second;
}

}  // namespace coffer::walls
