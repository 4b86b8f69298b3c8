#include "ui/keys.hpp"

#include <array>
#include <charconv>
#include <optional>

namespace coffer::cli::ui {

namespace {

using ftxui::Event;
using ftxui::Mouse;

constexpr char kEscape = '\x1b';
/// No key's sequence is longer; what goes on for longer is none.
constexpr std::size_t kLongest = 64;

/// How long the first thing in the bytes is: 0 = not all of it is there, or how far what is nothing goes.
struct Extent {
  std::size_t size = 0;
  bool broken = false;
};

bool isWithin(char c, char first, char last) { return c >= first && c <= last; }

Extent extentOfEscape(std::string_view bytes) {
  if (bytes.size() < 2) return {};
  if (bytes[1] == kEscape) return {1};  // the Escape key, and something after it
  if (bytes[1] == 'O') return {bytes.size() < 3 ? std::size_t{0} : std::size_t{3}};
  if (bytes[1] != '[') return {2};
  if (bytes.size() > 2 && bytes[2] == '[')
    return {bytes.size() < 4 ? std::size_t{0} : std::size_t{4}};  // Linux's F keys
  if (bytes.size() > 2 && bytes[2] == 'M') return {bytes.size() < 6 ? std::size_t{0} : std::size_t{6}};  // X10's mouse
  for (std::size_t i = 2; i < bytes.size(); ++i) {
    if (isWithin(bytes[i], '\x40', '\x7e')) return {i + 1};
    if (!isWithin(bytes[i], '\x20', '\x3f') || i > kLongest) return {i, true};
  }
  return {};
}

Extent extentOfCharacter(std::string_view bytes) {
  const auto lead = static_cast<unsigned char>(bytes.front());
  const std::size_t size = lead < 0x80 ? 1 : lead < 0xC2 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : lead < 0xF5 ? 4 : 0;
  if (size == 0) return {1, true};
  for (std::size_t i = 1; i < size; ++i) {
    if (i == bytes.size()) return {};
    if ((static_cast<unsigned char>(bytes[i]) & 0xC0U) != 0x80U) return {i, true};
  }
  return {size};
}

Event mouseEvent(std::string_view bytes, unsigned code, int x, int y, bool pressed) {
  Mouse mouse;
  const unsigned button = code & 3U;
  if ((code & 64U) != 0)
    mouse.button = button == 0 ? Mouse::WheelUp : button == 1 ? Mouse::WheelDown : Mouse::None;
  else
    mouse.button = static_cast<Mouse::Button>(button);
  mouse.motion = pressed ? Mouse::Pressed : Mouse::Released;
  mouse.shift = (code & 4U) != 0;
  mouse.meta = (code & 8U) != 0;
  mouse.control = (code & 16U) != 0;
  mouse.x = x - 1;
  mouse.y = y - 1;
  return Event::Mouse(std::string(bytes), mouse);
}

/// `ESC [ < CODE ; X ; Y M`, or with m when it is let go.
std::optional<Event> sgrMouse(std::string_view bytes) {
  std::array<int, 3> numbers{};
  const char* at = bytes.data() + 3;
  const char* end = bytes.data() + bytes.size();
  for (auto& number : numbers) {
    const auto [after, error] = std::from_chars(at, end, number);
    if (error != std::errc{} || after == end || number < 0) return std::nullopt;
    at = after + 1;
  }
  if (at != end) return std::nullopt;
  return mouseEvent(bytes, static_cast<unsigned>(numbers[0]), numbers[1], numbers[2], bytes.back() == 'M');
}

std::optional<Event> x10Mouse(std::string_view bytes) {
  const auto number = [&](std::size_t i) { return static_cast<int>(static_cast<unsigned char>(bytes[i])) - 32; };
  if (number(3) < 0) return std::nullopt;
  const auto code = static_cast<unsigned>(number(3));
  return mouseEvent(bytes, code, number(4), number(5), (code & 3U) != 3);
}

std::optional<Event> eventOf(std::string_view bytes) {
  if (bytes.front() == kEscape) {
    if (bytes.starts_with("\x1b[<")) return sgrMouse(bytes);
    if (bytes.starts_with("\x1b[M")) return x10Mouse(bytes);
    // Keys of a terminal in its application's mode.
    if (bytes.size() == 3 && bytes[1] == 'O' && std::string_view("ABCDHF").contains(bytes[2]))
      return Event::Special(std::string("\x1b[") + bytes[2]);
    return Event::Special(std::string(bytes));
  }
  if (bytes.front() == '\r') return Event::Return;
  if (bytes.front() == '\b') return Event::Backspace;
  if (static_cast<unsigned char>(bytes.front()) < 0x20 || bytes.front() == '\x7f')
    return Event::Special(std::string(bytes));
  return Event::Character(std::string(bytes));
}

}  // namespace

std::vector<Event> KeyReader::take(std::string_view bytes) {
  kept_ += bytes;
  std::vector<Event> events;
  std::string_view left = kept_;
  while (!left.empty()) {
    const auto extent = left.front() == kEscape ? extentOfEscape(left) : extentOfCharacter(left);
    if (extent.size == 0) break;
    if (!extent.broken)
      if (auto event = eventOf(left.substr(0, extent.size))) events.push_back(std::move(*event));
    left.remove_prefix(extent.size);
  }
  kept_.erase(0, kept_.size() - left.size());
  return events;
}

std::vector<Event> KeyReader::rest() {
  const bool escape = kept_ == std::string_view(&kEscape, 1);
  kept_.clear();
  return escape ? std::vector{Event::Escape} : std::vector<Event>{};
}

}  // namespace coffer::cli::ui
