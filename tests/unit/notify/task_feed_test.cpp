#include "notify/task_feed.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dbus/names.hpp"
#include "private_bus.hpp"

namespace coffer::notify {
namespace {

using testing::ElementsAre;

constexpr std::uint64_t kEndlessUs = 20'000'000;

/// What a task that goes on says of itself.
cli::Dictionary writing() {
  return {{"Id", sdbus::Variant(std::uint64_t{7})},
          {"State", sdbus::Variant(std::string("writing"))},
          {"Actions", sdbus::Variant(std::vector<std::string>{"cancel"})}};
}

/// A cofferd with one task, whose plan is accepted by somebody right after it has been read.
class Service {
 public:
  explicit Service(sdbus::IConnection& bus)
      : root_(sdbus::createObject(bus, sdbus::ObjectPath(std::string(names::kRootPath)))),
        task_(sdbus::createObject(bus, path())) {
    root_
        ->addVTable(sdbus::registerMethod("Subscribe").implementedAs([](const cli::Dictionary&) {}),
                    sdbus::registerMethod("ListTasks")
                        .implementedAs([this](const cli::Dictionary&, std::uint64_t, std::uint32_t) {
                          task_->emitSignal("PropertiesChanged")
                              .onInterface(std::string(names::kProperties))
                              .withArguments(std::string(names::kTask), writing(), std::vector<std::string>{});
                          return std::tuple(std::vector<cli::Dictionary>{}, std::uint64_t{0});
                        }))
        .forInterface(std::string(names::kManager));
    root_->addObjectManager();
    const auto with = [](const char* name, auto value) {
      return sdbus::registerProperty(name).withGetter([value] { return value; });
    };
    task_
        ->addVTable(with("Id", std::uint64_t{7}), with("ProjectName", std::string("zlib")),
                    with("Title", std::string("Fix the overflow")), with("State", std::string("plan-ready")),
                    with("Parked", std::string()), with("Actions", std::vector<std::string>{"accept-plan"}))
        .forInterface(std::string(names::kTask));
  }

 private:
  static sdbus::ObjectPath path() { return sdbus::ObjectPath(std::string(names::kTaskPath) + "/7"); }

  std::unique_ptr<sdbus::IObject> root_;
  std::unique_ptr<sdbus::IObject> task_;
};

TEST(TaskFeed, WhatChangesWhileTheStateIsReadIsToldAfterIt) {
  const api::test::PrivateBus bus;
  sd_event* raw = nullptr;
  ASSERT_GE(sd_event_new(&raw), 0);
  const api::test::Loop loop(raw);
  const auto serving = sdbus::createSessionBusConnectionWithAddress(bus.address());
  const auto listening = sdbus::createSessionBusConnectionWithAddress(bus.address());
  serving->attachSdEventLoop(loop.get());
  listening->attachSdEventLoop(loop.get());
  const Service service(*serving);

  std::vector<std::string> told;
  const auto add = [&told](const TaskNews& news) { told.push_back(news.bubble ? news.bubble->summary : "goes on"); };
  TaskFeed feed(*listening, serving->getUniqueName(),
                {.everything =
                     [&](const std::vector<TaskNews>& alive, const std::vector<TaskNews>&) {
                       for (const auto& news : alive)
                         add(news);
                     },
                 .task = add,
                 .gone = [](std::uint64_t) { FAIL() << "the task is there"; },
                 .failed = [](const sdbus::Error& reason) { FAIL() << reason.getMessage(); }});
  while (told.size() < 2 && sd_event_run(loop.get(), kEndlessUs) > 0) {
  }
  EXPECT_THAT(told, ElementsAre("zlib 7: plan to read", "goes on"));
}

}  // namespace
}  // namespace coffer::notify
