#include "ui/stage.hpp"

#include <array>
#include <cerrno>
#include <cstdint>
#include <format>
#include <ftxui/dom/node.hpp>
#include <ftxui/screen/screen.hpp>
#include <ftxui/screen/terminal.hpp>
#include <string>
#include <string_view>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "terminal.hpp"

namespace coffer::cli::ui {

namespace {

// xterm's control sequences: the other screen, no wrapping, no cursor; presses of buttons and the wheel, told in
// decimal.
constexpr std::string_view kEnter = "\x1b[?1049h\x1b[?7l\x1b[?25l\x1b[?1000h\x1b[?1006h\x1b[2J";
constexpr std::string_view kLeave = "\x1b[?1006l\x1b[?1000l\x1b[?25h\x1b[?7h\x1b[0m\x1b[?1049l";
constexpr std::string_view kClear = "\x1b[2J";
constexpr std::string_view kHome = "\x1b[H";

/// What follows an Escape within this time belongs to it.
constexpr int kEscapeMilliseconds = 50;

void put(std::string_view text) { static_cast<void>(writeAll(STDOUT_FILENO, text)); }

}  // namespace

Stage::Stage() : woken_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  tcgetattr(STDIN_FILENO, &before_);
  enter();
}

Stage::~Stage() { leave(); }

void Stage::enter() {
  auto mode = before_;
  // Signals of keys stay: Ctrl-C and Ctrl-Z are the terminal's business.
  mode.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  mode.c_cc[VMIN] = 1;
  mode.c_cc[VTIME] = 0;
  tcsetattr(STDIN_FILENO, TCSADRAIN, &mode);
  put(kEnter);
}

void Stage::leave() const {
  put(kLeave);
  tcsetattr(STDIN_FILENO, TCSADRAIN, &before_);
}

void Stage::draw(ftxui::Element what) const {
  const auto size = ftxui::Terminal::Size();
  ftxui::Screen screen(size.dimx, size.dimy);
  ftxui::Render(screen, what);
  auto text = std::string(kHome) + screen.ToString();
  const auto cursor = screen.cursor();
  if (cursor.shape != ftxui::Screen::Cursor::Hidden)
    text += std::format("\x1b[{};{}H\x1b[?25h", cursor.y + 1, cursor.x + 1);
  else
    text += "\x1b[?25l";
  put(text);
}

void Stage::clear() { put(kClear); }

void Stage::restored(const std::function<void()>& what) {
  leave();
  what();
  tcgetattr(STDIN_FILENO, &before_);
  enter();
}

Stage::Happening Stage::wait() {
  Happening happened;
  std::array waits = {pollfd{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0},
                      pollfd{.fd = woken_.get(), .events = POLLIN, .revents = 0}};
  const int ready = poll(waits.data(), waits.size(), keys_.waits() ? kEscapeMilliseconds : -1);
  if (ready == 0) happened.keys = keys_.rest();
  if (ready <= 0) return happened;
  if (waits[1].revents != 0) {
    std::uint64_t count = 0;
    static_cast<void>(read(woken_.get(), &count, sizeof count));
    happened.woken = true;
  }
  if (waits[0].revents != 0) {
    std::array<char, 4096> bytes{};
    const auto got = read(STDIN_FILENO, bytes.data(), bytes.size());
    happened.gone = got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN);
    if (got > 0) happened.keys = keys_.take({bytes.data(), static_cast<std::size_t>(got)});
  }
  return happened;
}

void Stage::wake() const {
  const std::uint64_t one = 1;
  while (write(woken_.get(), &one, sizeof one) < 0 && errno == EINTR) {
  }
}

}  // namespace coffer::cli::ui
