#pragma once

#include <ftxui/component/event.hpp>
#include <ftxui/dom/elements.hpp>
#include <functional>
#include <vector>

#include <termios.h>

#include "os/fd.hpp"
#include "ui/keys.hpp"

namespace coffer::cli::ui {

/// The whole terminal as a place to draw on and to read keys from. The library draws; its own loop looks for keys fifty
/// times a second and for animations sixty times, which nobody needs here: this one sleeps until something comes.
class Stage {
 public:
  /// Takes the terminal over.
  Stage();
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;
  /// Gives it back as it was.
  ~Stage();

  void draw(ftxui::Element what) const;
  /// The next draw() paints over whatever is there.
  static void clear();
  /// Gives the terminal back for as long as `what` runs.
  void restored(const std::function<void()>& what);

  struct Happening {
    std::vector<ftxui::Event> keys;
    bool woken = false;
    bool gone = false;  ///< there is no terminal any more
  };
  /// Sleeps until there are keys, or somebody woke it.
  Happening wait();
  /// From any thread, and from a signal handler.
  void wake() const;

 private:
  void enter();
  void leave() const;

  termios before_{};
  Fd woken_;
  KeyReader keys_;
};

}  // namespace coffer::cli::ui
