#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/dictionary.hpp"

namespace coffer::notify {

/// As the specification of desktop notifications numbers them. Nothing of ours is critical (2): that breaks through
/// what a person set so as not to be disturbed, and no task is worth that.
enum class Urgency : std::uint8_t { Low = 0, Normal = 1 };

/// What can be done from a notification: nothing that decides, because it shows too little to decide by.
enum class Button { Show, Retry, Later };

/// What a person is told about a task, before it is known what the notification server can show. Both texts are visible
/// (model::visibleText) and plain.
struct Bubble {
  std::string summary;  ///< of our own words and the project's name: nothing that an agent wrote
  std::string body;
  Urgency urgency = Urgency::Normal;
  bool stays = true;  ///< until it is closed: somebody has to do something
  std::vector<Button> buttons;
  std::string command;  ///< what Show does, for a server without buttons

  bool operator==(const Bubble&) const = default;
};

/// A task as far as notifications go.
struct TaskNews {
  std::uint64_t id = 0;
  bool ended = false;
  std::optional<Bubble> bubble;  ///< nothing: it waits for nobody
};

/// From the properties of a task, or from its entry in ListTasks.
TaskNews newsOf(const cli::Dictionary& task);

/// What a notification server says that it can show.
struct Capabilities {
  bool actions = false;
  bool body = false;
  bool markup = false;  ///< of the body, which it then reads as markup

  static Capabilities of(const std::vector<std::string>& names);
};

/// The arguments of Notify that depend on the bubble.
struct Shown {
  std::string summary;
  std::string body;
  std::vector<std::string> actions;  ///< key and label of each
};

Shown shownBy(const Capabilities& capabilities, const Bubble& bubble);

/// The button with this key, as ActionInvoked names it; "default" is a click on the notification itself.
std::optional<Button> buttonOf(std::string_view key);

/// Whether this can be a token of xdg-activation: short, and nothing but visible ASCII.
bool isActivationToken(std::string_view text);

}  // namespace coffer::notify
