#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "notify/bubble.hpp"

namespace coffer::notify {

/// What the notification server is to be told next.
struct Orders {
  struct Show {
    std::uint64_t task = 0;
    std::uint32_t replaces = 0;  ///< the server's number of the bubble that is there, or 0
    Bubble bubble;
  };
  std::vector<Show> show;
  std::vector<std::uint32_t> close;   ///< the server's numbers
  std::optional<std::uint64_t> wake;  ///< when to ask again though nothing happened; as `now`
};

/// Which bubbles there should be and which there are: at most one of a task, shown once for each state that waits,
/// replaced as the task moves on, closed when it does not wait any more. Knows no bus and no clock: whoever uses it
/// says what happened, takes orders() after everything it said, and carries them out. Times are microseconds of
/// CLOCK_MONOTONIC.
class Board {
 public:
  /// A task that has ended is news only when it was seen alive: old failures are not told again.
  void learn(const TaskNews& news);
  /// Everything that is alive, and of what failed at least what was alive before; what is in neither list is over.
  void learnAll(const std::vector<TaskNews>& alive, const std::vector<TaskNews>& failed);
  /// The task is no more.
  void forget(std::uint64_t task);

  /// There is a server, which shows nothing of ours yet.
  void serverCame();
  /// What it showed is gone with it and will be shown by the next one.
  void serverLeft();

  /// How a Show ended: the server's number, or nothing when it refused.
  void shown(std::uint64_t task, std::optional<std::uint32_t> number);
  /// The server closed a bubble: its person saw it, or it expired. It does not come again until the task changes.
  void closed(std::uint32_t number);

  /// Quiet about this task until it changes, or kNotificationLater is over.
  void putOff(std::uint64_t task, std::uint64_t now);
  /// Shows the task's bubble again with a sentence about what was tried from it.
  void say(std::uint64_t task, std::string sentence);

  [[nodiscard]] std::optional<std::uint64_t> taskOf(std::uint32_t number) const;
  [[nodiscard]] Orders orders(std::uint64_t now);
  /// Counts up whenever there is something new to show; the same number means that nothing came.
  [[nodiscard]] std::uint64_t news() const { return turn_; }
  /// Something is to be shown, and no server is there.
  [[nodiscard]] bool wantsServer() const;
  /// The server's numbers of everything that it shows.
  [[nodiscard]] std::vector<std::uint32_t> onScreen() const;

 private:
  struct Entry {
    bool ended = false;
    std::optional<Bubble> wanted;
    std::string sentence;          ///< added to what is wanted
    std::optional<Bubble> told;    ///< the last that was shown, if it is not to be shown again
    std::uint32_t number = 0;      ///< the server's, 0: it shows none
    bool sending = false;          ///< shown, and the server's number is not known yet
    std::uint64_t quietUntil = 0;  ///< 0: not put off
    std::uint64_t since = 0;       ///< its place among those that wait to be shown

    [[nodiscard]] std::optional<Bubble> bubble() const;
    [[nodiscard]] bool due() const;
  };

  void set(Entry& entry, const TaskNews& news);
  /// Takes one of the bubbles that may be shown now; false when there is none left.
  bool take(std::uint64_t now);

  std::map<std::uint64_t, Entry> entries_;
  bool server_ = false;
  std::uint64_t turn_ = 0;
  std::uint64_t taken_ = 0;       ///< bubbles shown of the burst
  std::uint64_t takenSince_ = 0;  ///< when the next one is given back counts from here
};

}  // namespace coffer::notify
