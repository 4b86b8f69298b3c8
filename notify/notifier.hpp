#pragma once

#include <memory>
#include <optional>
#include <string>

#include <sdbus-c++/sdbus-c++.h>
#include <systemd/sd-event.h>

#include "notify/board.hpp"
#include "notify/name_owner.hpp"
#include "notify/notification_server.hpp"
#include "notify/task_feed.hpp"
#include "notify/terminal.hpp"
#include "os/event_source.hpp"

namespace coffer::notify {

/// Brings together what cofferd tells on the system bus and what the notification server shows on the session's.
/// Whatever of the two comes, goes or comes again, what is shown is what waits.
class Notifier {
 public:
  Notifier(sd_event* loop, sdbus::IConnection& system, sdbus::IConnection& session);
  Notifier(const Notifier&) = delete;
  Notifier& operator=(const Notifier&) = delete;
  ~Notifier() = default;

  /// Takes away what is shown; for the end.
  void clear();

 private:
  void follow();
  void onDaemon(const std::string& owner);
  void onServer(const std::string& owner);
  void onPressed(std::uint32_t number, Button button, const std::string& token);
  /// Carries out what the board wants now.
  void update();

  sd_event* loop_;
  sdbus::IConnection& system_;
  sdbus::IConnection& session_;
  Board board_;
  Terminal terminal_;
  std::string daemonOwner_;
  std::unique_ptr<TaskFeed> feed_;
  std::unique_ptr<NotificationServer> server_;
  std::uint64_t askedFor_ = 0;  ///< the board's news() when a server was last asked to start
  std::optional<os::EventSource> timer_;
  std::optional<os::EventSource> again_;  ///< until cofferd is asked again after a refusal
  NameOwner daemon_;
  NameOwner serverName_;
};

}  // namespace coffer::notify
