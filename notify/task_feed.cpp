#include "notify/task_feed.hpp"

#include <array>
#include <charconv>
#include <chrono>
#include <format>
#include <optional>
#include <string_view>
#include <utility>

#include "cli/change_options.hpp"
#include "dbus/error.hpp"
#include "dbus/names.hpp"
#include "model/limits.hpp"

namespace coffer::notify {

namespace {

using Interfaces = std::map<std::string, cli::Dictionary>;

/// polkit gives a person that long to type; the call itself is short.
constexpr std::chrono::microseconds kChangeTimeout{limits::kAuthorisationTime + 10'000'000};

std::optional<std::uint64_t> taskAt(std::string_view path) {
  if (!path.starts_with(names::kTaskPath) || path.size() <= names::kTaskPath.size() + 1) return std::nullopt;
  path.remove_prefix(names::kTaskPath.size() + 1);
  std::uint64_t task = 0;
  const auto [end, error] = std::from_chars(path.data(), path.data() + path.size(), task);
  if (error != std::errc() || end != path.data() + path.size()) return std::nullopt;
  return task;
}

}  // namespace

TaskFeed::TaskFeed(sdbus::IConnection& bus, const std::string& owner, Told told)
    : bus_(bus),
      owner_(owner),
      told_(std::move(told)),
      root_(sdbus::createProxy(bus, owner_, sdbus::ObjectPath(std::string(names::kRootPath)))) {
  // First the signals, then the state: what happens in between is told twice rather than never.
  matches_.push_back(bus.addMatch(
      std::format("type='signal',sender='{}',interface='{}',member='PropertiesChanged',path_namespace='{}'", owner,
                  names::kProperties, names::kTaskPath),
      [this](sdbus::Message message) {
        std::string interface;
        cli::Dictionary changed;
        message >> interface >> changed;
        if (interface == names::kTask && !changed.empty()) tell([this, news = newsOf(changed)] { told_.task(news); });
      },
      sdbus::return_slot));
  for (const auto* member : {"InterfacesAdded", "InterfacesRemoved"})
    matches_.push_back(bus.addMatch(
        std::format("type='signal',sender='{}',interface='{}',member='{}',path='{}'", owner, names::kObjectManager,
                    member, names::kRootPath),
        [this, added = std::string_view(member) == "InterfacesAdded"](sdbus::Message message) {
          sdbus::ObjectPath path;
          message >> path;
          const auto task = taskAt(path);
          if (!task) return;
          if (!added) return tell([this, id = *task] { told_.gone(id); });
          Interfaces interfaces;
          message >> interfaces;
          if (const auto found = interfaces.find(std::string(names::kTask));
              found != interfaces.end() && !found->second.empty())
            tell([this, news = newsOf(found->second)] { told_.task(news); });
        },
        sdbus::return_slot));
  subscribe();
}

void TaskFeed::tell(std::function<void()> news) {
  if (!held_) return news();
  held_->push_back(std::move(news));
}

void TaskFeed::tellHeld() {
  for (const auto& news : std::exchange(held_, std::nullopt).value_or(std::vector<std::function<void()>>{}))
    news();
}

void TaskFeed::subscribe() {
  root_->callMethodAsync("Subscribe")
      .onInterface(std::string(names::kManager))
      .withArguments(cli::Dictionary{})
      .uponReplyInvoke([this](std::optional<sdbus::Error> error) {
        if (error) return fail(*error);
        readAlive();
      });
}

void TaskFeed::readAlive() {
  root_->callMethodAsync("GetManagedObjects")
      .onInterface(std::string(names::kObjectManager))
      .uponReplyInvoke(
          [this](std::optional<sdbus::Error> error, const std::map<sdbus::ObjectPath, Interfaces>& objects) {
            if (error) return fail(*error);
            std::vector<TaskNews> alive;
            for (const auto& [path, interfaces] : objects)
              if (const auto found = interfaces.find(std::string(names::kTask)); found != interfaces.end())
                alive.push_back(newsOf(found->second));
            readFailed(std::move(alive));
          });
}

void TaskFeed::readFailed(std::vector<TaskNews> alive) {
  held_.emplace();
  const cli::Dictionary filter{{"state", sdbus::Variant(std::vector<std::string>{"failed"})}};
  root_->callMethodAsync("ListTasks")
      .onInterface(std::string(names::kManager))
      .withArguments(filter, std::uint64_t{0}, limits::kListMost)
      .uponReplyInvoke([this, alive = std::move(alive)](std::optional<sdbus::Error> error,
                                                        const std::vector<cli::Dictionary>& entries, std::uint64_t) {
        if (error) {
          tellHeld();
          return fail(*error);
        }
        std::vector<TaskNews> failed;
        failed.reserve(entries.size());
        for (const auto& entry : entries)
          failed.push_back(newsOf(entry));
        told_.everything(alive, failed);
        tellHeld();
      });
}

void TaskFeed::fail(const sdbus::Error& error) {
  const std::string_view name = error.getName();
  for (const auto* gone : {"org.freedesktop.DBus.Error.NoReply", "org.freedesktop.DBus.Error.ServiceUnknown",
                           "org.freedesktop.DBus.Error.NameHasNoOwner"})
    if (name == gone) return;
  told_.failed(error);
}

void TaskFeed::call(std::uint64_t task, const std::string& method, std::function<void(const sdbus::Error&)> failed) {
  auto& proxy = tasks_[task];
  if (!proxy) proxy = sdbus::createProxy(bus_, owner_, sdbus::ObjectPath(std::format("{}/{}", names::kTaskPath, task)));
  proxy->callMethodAsync(method)
      .onInterface(std::string(names::kTask))
      .withTimeout(kChangeTimeout)
      .withArguments(cli::changeOptions())
      .uponReplyInvoke([failed = std::move(failed)](std::optional<sdbus::Error> error) {
        if (error) failed(*error);
      });
}

}  // namespace coffer::notify
