#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <sdbus-c++/sdbus-c++.h>

namespace coffer::notify {

/// How a command is run in the person's terminal: the words before the command, the first of them a path. Nothing when
/// there is no terminal, or nothing to show it on. In this order: xdg-terminal-exec, $TERMINAL, x-terminal-emulator.
/// `environment`: NAME=VALUE; `runnable`: whether there is a program at that path.
std::optional<std::vector<std::string>> terminalIn(const std::vector<std::string>& environment,
                                                   const std::function<bool(const std::string& path)>& runnable);

/// Opens terminals as units of the user's service manager, with its environment, so that they outlive us.
class Terminal {
 public:
  explicit Terminal(sdbus::IConnection& bus);
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
  ~Terminal() = default;

  /// Opens one that shows the task and then is a shell. `token`: by which it may come to the front (xdg-activation), or
  /// empty. `failed` is called instead when there is none.
  void show(std::uint64_t task, const std::string& token, std::function<void()> failed);

 private:
  void start(const std::vector<std::string>& words, std::uint64_t task, const std::string& token,
             const std::function<void()>& failed);

  std::unique_ptr<sdbus::IProxy> systemd_;
};

}  // namespace coffer::notify
