#include "notify/bubble.hpp"

#include <algorithm>
#include <array>
#include <format>
#include <utility>

#include "cli/format.hpp"
#include "cli/task_view.hpp"
#include "model/visible_text.hpp"
#include "notify/limits.hpp"

namespace coffer::notify {

namespace {

struct ButtonEntry {
  Button button;
  std::string_view key;
  std::string_view label;
};

constexpr auto kButtons = std::to_array<ButtonEntry>({
    {Button::Show, "show", "Show"},
    {Button::Retry, "retry", "Retry"},
    {Button::Later, "later", "Later"},
});

/// A click on the notification itself.
constexpr std::string_view kDefaultKey = "default";

/// The text without a last character that would not fit whole.
std::string_view fitting(std::string_view text) {
  if (text.size() <= limits::kNotificationBytes) return text;
  auto end = limits::kNotificationBytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0U) == 0x80U)
    --end;
  return text.substr(0, end);
}

/// The beginning of a text that others wrote, made visible and bounded in bytes (a letter may carry any number of
/// marks) and in lines.
std::string beginning(std::string_view text) {
  // What is made visible never becomes shorter, so nothing behind the limit could be shown.
  const auto visible = model::visibleText(fitting(text));
  std::string result;
  std::size_t lines = 0;
  bool cut = text.size() > limits::kNotificationBytes;
  for (const auto line : cli::linesOf(visible)) {
    if (line.find_first_not_of(" \t") == std::string_view::npos) continue;
    cut = cut || lines == limits::kNotificationLines;
    if (lines++ == limits::kNotificationLines) break;
    result.append(result.empty() ? "" : "\n").append(line);
  }
  cut = cut || result.size() > limits::kNotificationBytes;
  result.resize(fitting(result).size());
  return cut ? result + "…" : result;
}

std::string clock(std::uint64_t when) {
  const auto time = cli::absoluteTime(when);
  return time.size() < 5 ? time : time.substr(time.size() - 5);
}

std::string escaped(std::string_view text) {
  std::string result;
  for (const char letter : text) {
    switch (letter) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      case '\'':
        result += "&apos;";
        break;
      default:
        result += letter;
    }
  }
  return result;
}

std::string problemOf(const cli::Dictionary& task) {
  return std::get<1>(cli::valueOf<sdbus::Struct<std::string, std::string>>(task, "Problem"));
}

/// What happened in a few words, and what others wrote about it.
struct Message {
  std::string what;
  std::string words;
  Urgency urgency = Urgency::Normal;
};

std::optional<Message> messageOf(const cli::Dictionary& task, const cli::TaskView& view) {
  if (view.state == "failed") return Message{"failed", problemOf(task)};
  if (view.ended()) return std::nullopt;
  if (view.parked == "question") return Message{"asks you something", cli::textOf(task, "Question")};
  if (!view.parked.empty()) {
    if (!view.needsYou())
      return Message{"waits, and goes on at " + clock(view.waitingUntil), view.waitingWords, Urgency::Low};
    return Message{"does not go on", view.waitingWords};
  }
  if (view.allows("accept-plan")) return Message{"plan to read", {}};
  if (view.allows("accept-work")) return Message{"work to review", {}};
  return std::nullopt;
}

}  // namespace

TaskNews newsOf(const cli::Dictionary& task) {
  const cli::TaskView view(task);
  TaskNews news{.id = view.id, .ended = view.ended(), .bubble = std::nullopt};
  const auto message = messageOf(task, view);
  if (!message) return news;
  Bubble bubble;
  bubble.summary = std::format("{} {}: {}", view.project.empty() ? "Task" : view.project, view.id, message->what);
  bubble.body = beginning(view.title);
  if (const auto words = beginning(message->words); !words.empty()) bubble.body += "\n" + words;
  bubble.urgency = message->urgency;
  bubble.stays = message->urgency != Urgency::Low;
  bubble.command = std::format("coffer show {}", view.id);
  bubble.buttons.push_back(Button::Show);
  // Of a plan or work that waits, "again" would be a decision on it.
  const bool stands = !view.parked.empty() || view.ended();
  // Out of budget it would stop again at once: only "coffer retry --budget" helps, which wants a number.
  if (stands && view.allows("retry") && view.parked != "budget") bubble.buttons.push_back(Button::Retry);
  bubble.buttons.push_back(Button::Later);
  news.bubble = std::move(bubble);
  return news;
}

Capabilities Capabilities::of(const std::vector<std::string>& names) {
  const auto has = [&](std::string_view name) { return std::ranges::find(names, name) != names.end(); };
  return {.actions = has("actions"), .body = has("body"), .markup = has("body-markup")};
}

Shown shownBy(const Capabilities& capabilities, const Bubble& bubble) {
  Shown shown{.summary = bubble.summary, .body = {}, .actions = {}};
  if (capabilities.actions) {
    shown.actions = {std::string(kDefaultKey), "Show"};
    for (const auto button : bubble.buttons)
      for (const auto& entry : kButtons)
        if (entry.button == button) {
          shown.actions.emplace_back(entry.key);
          shown.actions.emplace_back(entry.label);
        }
  }
  auto body = bubble.body;
  if (!capabilities.actions) body += (body.empty() ? "" : "\n") + bubble.command;
  if (capabilities.body)
    shown.body = capabilities.markup ? escaped(body) : body;
  else
    shown.summary += " (" + bubble.command + ")";
  return shown;
}

std::optional<Button> buttonOf(std::string_view key) {
  if (key == kDefaultKey) return Button::Show;
  for (const auto& entry : kButtons)
    if (entry.key == key) return entry.button;
  return std::nullopt;
}

bool isActivationToken(std::string_view text) {
  return !text.empty() && text.size() <= limits::kActivationTokenBytes &&
         std::ranges::all_of(text, [](char c) { return c > ' ' && c < '\x7f'; });
}

}  // namespace coffer::notify
