#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <sdbus-c++/sdbus-c++.h>

#include "notify/bubble.hpp"

namespace coffer::notify {

/// The tasks of the calling user as one cofferd tells of them: everything once, then every change. Ends with that
/// cofferd; for the next one there is another feed.
///
/// Not with the generated proxies: they block, and their Manager listens to TaskChanged, which would wake us for the
/// tasks of everybody.
class TaskFeed {
 public:
  struct Told {
    std::function<void(const std::vector<TaskNews>& alive, const std::vector<TaskNews>& failed)> everything;
    std::function<void(const TaskNews& news)> task;
    std::function<void(std::uint64_t task)> gone;
    std::function<void(const sdbus::Error& reason)> failed;  ///< it tells nothing; the reason is not that cofferd went
  };

  /// `owner`: the unique name of cofferd's connection.
  TaskFeed(sdbus::IConnection& bus, const std::string& owner, Told told);
  TaskFeed(const TaskFeed&) = delete;
  TaskFeed& operator=(const TaskFeed&) = delete;
  ~TaskFeed() = default;

  /// Calls a method of a task that takes options only (Retry). `failed` gets the reason when it was refused.
  /// polkit may ask the person for a password.
  void call(std::uint64_t task, const std::string& method, std::function<void(const sdbus::Error& reason)> failed);

 private:
  /// Now, or after the state that is being read.
  void tell(std::function<void()> news);
  void tellHeld();
  void subscribe();
  void readAlive();
  void readFailed(std::vector<TaskNews> alive);
  /// An error that means that nobody is there any more is left to whoever watches the name.
  void fail(const sdbus::Error& error);

  sdbus::IConnection& bus_;
  sdbus::ServiceName owner_;
  Told told_;
  std::unique_ptr<sdbus::IProxy> root_;
  std::map<std::uint64_t, std::unique_ptr<sdbus::IProxy>> tasks_;  ///< those that something was called of
  std::vector<sdbus::Slot> matches_;
  /// What came between the two answers that the state is read in. It is newer than the first, which is told with the
  /// second: told at once, it would be taken back by what was so before.
  std::optional<std::vector<std::function<void()>>> held_;
};

}  // namespace coffer::notify
