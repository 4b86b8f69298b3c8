#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "connection.hpp"
#include "os/fd.hpp"
#include "ui/messages.hpp"

namespace coffer::cli::ui {

/// Keeps what the view shows current: holds the bus on a thread of its own, reads again what a signal says has changed,
/// and makes the calls that a person decided. Sleeps while nothing happens. Outlives the service and the connection:
/// both are waited for.
class Feed {
 public:
  /// `wake` is called from the thread when there are updates to take.
  Feed(std::unique_ptr<Connection> bus, std::string host, std::function<void()> wake);
  Feed(const Feed&) = delete;
  Feed& operator=(const Feed&) = delete;
  /// Ends a call that is being waited for, too.
  ~Feed();

  void look(const Focus& focus);
  void act(Act act);
  void remember(std::string digest);
  std::vector<Update> take();

  /// The call itself, wherever a decision is carried out.
  static void carryOut(Connection& bus, const Act& act);

 private:
  struct Text;

  void run();
  /// One piece of work, so that a new order never waits for more than one call; false when there is none.
  bool step();
  void poke() const;
  void post(Update update);
  void reconnect();
  void failed(const sdbus::Error& error);
  void subscribe();
  void refocus(const Focus& focus);
  void readTasks();
  void readTask();
  void readPiece();
  void readLive();
  void takePiece(const std::string& piece, bool last, bool cut);
  void perform(const Act& act);

  std::string host_;
  std::function<void()> wake_;
  Fd event_;
  std::atomic<bool> stop_ = false;

  std::mutex mutex_;  ///< of the next four
  std::optional<Focus> wanted_;
  std::deque<Act> acts_;
  std::deque<std::string> shown_;
  std::vector<Update> updates_;

  // The rest belongs to the thread.
  std::unique_ptr<Connection> bus_;
  bool watched_ = false;     ///< this connection tells when the service comes and goes
  bool subscribed_ = false;  ///< this service tells what changes
  bool there_ = true;
  bool tasksChanged_ = true;
  bool taskChanged_ = false;
  /// Number and sequence of what was posted last.
  std::optional<std::vector<std::pair<std::uint64_t, std::uint64_t>>> listed_;
  Focus focus_;
  std::unique_ptr<TaskClient> task_;
  std::unique_ptr<Text> text_;

  std::atomic<bool> ended_ = false;
  std::thread thread_;
};

}  // namespace coffer::cli::ui
