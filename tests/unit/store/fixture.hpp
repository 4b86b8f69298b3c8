#pragma once

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "model/decide.hpp"
#include "model/digest.hpp"
#include "store/store.hpp"

namespace coffer::store {

/// A store in a directory of its own, and a task in it that is played by facts.
class StoreTest : public ::testing::Test {
 protected:
  StoreTest() {
    std::string name = (std::filesystem::temp_directory_path() / "store-XXXXXX").string();
    directory_ = ::mkdtemp(name.data());
    reopen();
  }
  ~StoreTest() override {
    store_.reset();
    std::filesystem::remove_all(directory_);
  }

  void reopen() {
    store_.reset();
    auto opened = Store::open(path(), 1);
    ASSERT_TRUE(opened) << opened.error().message;
    store_ = *std::move(opened);
  }

  [[nodiscard]] std::string path() const { return directory_ + "/cofferd.db"; }

  static Append decided(const model::Task& task, const model::Fact& fact, std::uint64_t at = 5) {
    auto decision = model::decide(task, fact, at);
    if (!decision) {
      ADD_FAILURE() << decision.error().message;
      return {};
    }
    return {.events = std::move(decision->events)};
  }

  /// Tells a fact and keeps what follows.
  model::Task tell(const model::Task& task, const model::Fact& fact, std::uint64_t at = 5) {
    auto appended = store_->tasks().append(task, decided(task, fact, at));
    if (!appended) {
      ADD_FAILURE() << appended.error().message;
      return task;
    }
    return appended->task;
  }

  static model::Created created(std::uint64_t id, std::uint32_t owner = 1000) {
    return {.id = id,
            .project = 1,
            .owner = owner,
            .title = "A title",
            .prompt = model::sha256("prompt"),
            .flow = *model::builtInFlow("review"),
            .agents = {{model::Role::Writer, "codex/m"}}};
  }
  model::Task make(std::uint32_t owner = 1000) { return tell({}, created(*store_->tasks().newId(), owner)); }
  model::Task planReady(model::Task task) {
    task = tell(task, model::SnapshotTaken{.step = task.step->name, .base = "b", .branch = "master"});
    return tell(
        task,
        model::TurnEnded{.step = task.step->name, .run = 1, .plan = {.digest = model::sha256("plan"), .summary = "S"}});
  }

  std::string directory_;
  std::unique_ptr<Store> store_;
};

}  // namespace coffer::store
