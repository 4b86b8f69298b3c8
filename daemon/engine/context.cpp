#include "engine/context.hpp"

#include <filesystem>

#include "model/digest.hpp"
#include "os/clock.hpp"
#include "os/log.hpp"

namespace coffer::engine {

std::expected<std::uint32_t, Error> Context::uid(model::UidPart part, std::uint64_t task, const std::string& holder) {
  auto held = task ? store->uids().ofTask(task) : store->uids().all();
  if (!held) return std::unexpected(held.error());
  for (const auto& each : *held)
    if (each.task == task && each.holder == holder) return each.uid;
  if (obstacle) return std::unexpected(refusalOf(*obstacle));
  return store->uids().take(part, task, holder, os::now());
}

void Context::releaseUid(std::uint64_t task, const std::string& holder) {
  const auto held = task ? store->uids().ofTask(task) : store->uids().all();
  if (!held) return;
  for (const auto& each : *held) {
    if (each.task != task || each.holder != holder) continue;
    identities.withdraw(each.uid);
    if (auto released = store->uids().release(each.uid); !released) log::warning(released.error().message);
  }
}

void Context::releaseUids(std::uint64_t task, const std::string& prefix) {
  const auto held = task ? store->uids().ofTask(task) : store->uids().all();
  if (!held) return;
  for (const auto& each : *held) {
    if (each.task != task || !each.holder.starts_with(prefix)) continue;
    identities.withdraw(each.uid);
    if (auto released = store->uids().release(each.uid); !released) log::warning(released.error().message);
  }
}

std::string Context::dummyKey(std::uint64_t task, const std::string& conversation) const {
  const auto digest = model::sha256(secret + '\0' + std::to_string(task) + '\0' + conversation);
  return "coffer-" + digest.substr(digest.find(':') + 1, 40);
}

std::vector<std::string> Context::bases(std::uint64_t project) const {
  std::vector<std::string> commits;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(places.checkouts(project), error)) {
    const auto name = entry.path().filename().string();
    if (name.size() > 40 && name[40] == '-') commits.push_back(name.substr(0, 40));
  }
  return commits;
}

}  // namespace coffer::engine
