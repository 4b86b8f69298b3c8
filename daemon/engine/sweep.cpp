#include "engine/sweep.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <set>

#include "engine/unit_input.hpp"
#include "os/beneath.hpp"
#include "os/log.hpp"

namespace coffer::engine {

std::optional<std::uint64_t> taskOfName(std::string_view name) {
  if (name.starts_with("coffer-p")) return 0;
  if (name.starts_with("coffer-"))
    name.remove_prefix(7);
  else if (name.starts_with('t'))
    name.remove_prefix(1);
  else if (name.starts_with('p'))
    return 0;
  else
    return std::nullopt;
  std::uint64_t task = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), task);
  if (error != std::errc{} || task == 0) return std::nullopt;
  const auto rest = std::string_view(end, static_cast<std::size_t>(name.data() + name.size() - end));
  if (!rest.empty() && rest.front() != '-') return std::nullopt;
  return task;
}

std::vector<std::string> namesBelow(const std::string& directory, std::string_view prefix) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    auto name = entry.path().filename().string();
    if (name.starts_with(prefix)) names.push_back(std::move(name));
  }
  return names;
}

Async<Done> sweep(Context& context) {
  const auto live = context.store->tasks().live();
  if (!live) {
    log::error("what is left over cannot be told from what is open: " + live.error().message);
    co_return Done{};
  }
  // Of a task that waits nothing stands either.
  std::set<std::uint64_t> open;
  for (const auto& task : *live)
    if (task.step) open.insert(task.id);
  const auto over = [&open](std::string_view name) {
    const auto task = taskOfName(name);
    return task && !open.contains(*task);
  };
  const auto told = [](const std::string& what, const std::expected<void, Error>& outcome) {
    if (outcome)
      log::info("removed what was left over: " + what);
    else
      log::warning(what + " is left over and cannot be removed: " + outcome.error().message);
  };

  if (auto units = co_await context.systemd->list("coffer-*.service")) {
    for (const auto& unit : *units) {
      if (unit == "coffer-walls.service" || !over(unit)) continue;
      told("unit " + unit, co_await context.systemd->remove(unit));
    }
  }
  if (auto standing = context.walls->list()) {
    for (const auto kind : {walls::Kind::Netns, walls::Kind::Workspace, walls::Kind::Source, walls::Kind::Image}) {
      for (const auto& [what, name] : *standing) {
        if (what != kind || !over(name)) continue;
        if (kind == walls::Kind::Netns) told("namespace " + name, context.walls->removeNetns(name));
        if (kind == walls::Kind::Workspace) told("workspace " + name, context.walls->unmountWorkspace(name));
        if (kind == walls::Kind::Source) told("source " + name, context.walls->detachSource(name));
        if (kind == walls::Kind::Image) told("image " + name, context.walls->unmountImage(name));
      }
    }
  }
  for (const auto& name : namesBelow(context.places.inputs(), "coffer-"))
    if (over(name)) told("input of " + name, removeInput(context.places, name));
  for (const auto& name : namesBelow(context.places.work(), "coffer-"))
    if (over(name)) told("output of " + name, removeOutput(context.places, name));
  // Numbers that were taken for something that never became a task.
  for (const auto& name : namesBelow(context.places.state + "/tasks", "")) {
    std::uint64_t id = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), id);
    if (error != std::errc{} || end != name.data() + name.size() || open.contains(id)) continue;
    const auto task = context.store->tasks().get(id);
    if (task || task.error().code != ErrorCode::UnknownObject) continue;
    if (auto conversations = context.store->conversations().ofTask(id))
      for (const auto& conversation : *conversations) {
        context.identities.withdraw(conversation.uid);
        static_cast<void>(context.store->conversations().gone(conversation.id));
      }
    context.releaseUids(id);
    removeTaskDirectory(context, id);
  }
  co_return Done{};
}

void removeTaskDirectory(Context& context, std::uint64_t task) {
  auto tasks = os::openDirectory(context.places.state + "/tasks");
  if (!tasks) return;
  if (auto gone = os::removeTree(tasks->get(), std::to_string(task)); !gone)
    log::warning("the folder of task " + std::to_string(task) + ": " + gone.error().message);
}

Async<Done> tidyOthers(Context& context, std::uint64_t task, std::string step) {
  const auto prefix = "coffer-" + std::to_string(task) + "-";
  const auto another = [&](std::string_view name) {
    return name.starts_with(prefix) && name != step && !name.starts_with(step + "-") && !name.starts_with(step + ".");
  };
  if (auto units = co_await context.systemd->list(prefix + "*")) {
    for (const auto& unit : *units)
      if (another(unit)) co_await context.systemd->remove(unit);
  }
  const auto standing = context.walls->list();
  if (!standing) co_return Done{};
  for (const auto& [what, name] : *standing) {
    if (!another(name)) continue;
    if (what == walls::Kind::Netns) static_cast<void>(context.walls->removeNetns(name));
    if (what == walls::Kind::Workspace) static_cast<void>(context.walls->unmountWorkspace(name));
  }
  for (const auto& name : namesBelow(context.places.inputs(), prefix))
    if (another(name)) static_cast<void>(removeInput(context.places, name));
  for (const auto& name : namesBelow(context.places.work(), prefix))
    if (another(name)) static_cast<void>(removeOutput(context.places, name));
  co_return Done{};
}

}  // namespace coffer::engine
