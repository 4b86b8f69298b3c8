#include "terminal.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <format>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "format.hpp"
#include "os/fd.hpp"
#include "process.hpp"

namespace coffer::cli {

namespace {

constexpr std::string_view kMark = "------------------------ >8 ------------------------";

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

/// A number of columns or lines; nothing when it is not one.
std::optional<std::size_t> positive(const std::string& text) {
  char* end = nullptr;
  const auto number = std::strtoul(text.c_str(), &end, 10);
  if (text.empty() || *end || number == 0) return std::nullopt;
  return number;
}

constexpr char kInterrupt = '\x03';

/// Turns the echo of a terminal off while it lives.
class Silence {
 public:
  explicit Silence(int fd) : fd_(fd) {
    active_ = tcgetattr(fd_, &before_) == 0;
    if (!active_) return;
    // A signal in between would leave the user's shell without an echo.
    sigset_t blocked;
    sigemptyset(&blocked);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP})
      sigaddset(&blocked, signal);
    sigprocmask(SIG_BLOCK, &blocked, &mask_);
    termios quiet = before_;
    quiet.c_lflag &= ~static_cast<tcflag_t>(ECHO | ISIG);
    // With signals off, Ctrl-C is a character; this makes it end the line.
    quiet.c_cc[VEOL] = kInterrupt;
    tcsetattr(fd_, TCSAFLUSH, &quiet);
  }
  Silence(const Silence&) = delete;
  Silence& operator=(const Silence&) = delete;
  ~Silence() {
    if (!active_) return;
    tcsetattr(fd_, TCSAFLUSH, &before_);
    sigprocmask(SIG_SETMASK, &mask_, nullptr);
  }

 private:
  int fd_;
  bool active_ = false;
  termios before_{};
  sigset_t mask_{};
};

/// One line from a descriptor, byte by byte so that nothing after it is taken away.
std::optional<std::string> readLine(int fd) {
  std::string line;
  char letter = 0;
  for (;;) {
    const auto got = read(fd, &letter, 1);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return line.empty() ? std::nullopt : std::optional(line);
    if (letter == '\n') return line;
    if (letter == kInterrupt) return std::nullopt;
    line += letter;
  }
}

std::size_t terminalHeight() {
  winsize size{};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 ? size.ws_row : 24;
}

/// Whether a terminal would show less than all of it at once. Colours take no room.
bool isLongerThan(std::string_view text, std::size_t rows, std::size_t columns) {
  std::size_t row = 0;
  std::size_t column = 0;
  while (!text.empty() && row < rows) {
    if (text.front() == '\x1b') {
      text.remove_prefix(std::min(text.find('m'), text.size() - 1) + 1);
      continue;
    }
    const auto character = firstCharacter(text);
    text.remove_prefix(character.bytes.size());
    if (character.bytes == "\n") {
      ++row;
      column = 0;
      continue;
    }
    column += character.width;
    if (column > columns) {
      ++row;
      column = character.width;
    }
  }
  // The line after the last one is the shell's.
  return row >= rows;
}

std::expected<std::string, Failure> readDescriptor(int fd, std::size_t limit) {
  std::string text;
  std::array<char, 65536> buffer{};
  for (;;) {
    const auto got = read(fd, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failure(ExitCode::Failed, std::format("Cannot read standard input: {}.", std::strerror(errno)));
    if (got == 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(got));
    if (text.size() > limit)
      return failure(ExitCode::Failed,
                     std::format("The text is longer than {}, which is the most that is taken.", sizeText(limit)));
  }
}

}  // namespace

Terminal Terminal::detect() {
  Terminal result;
  result.input = isatty(STDIN_FILENO) == 1;
  result.output = isatty(STDOUT_FILENO) == 1;
  result.error = isatty(STDERR_FILENO) == 1;
  const auto term = environment("TERM");
  result.colour = result.output && environment("NO_COLOR").empty() && !term.empty() && term != "dumb";
  if (result.output) {
    result.width = positive(environment("COLUMNS"));
    winsize size{};
    if (!result.width && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) result.width = size.ws_col;
    if (!result.width) result.width = 80;
  }
  return result;
}

bool confirm(const std::string& question) {
  writeAll(STDERR_FILENO, question + " [y/N] ");
  const auto answer = readLine(STDIN_FILENO);
  if (!answer) writeAll(STDERR_FILENO, "\n");
  return answer && (*answer == "y" || *answer == "Y" || *answer == "yes" || *answer == "Yes");
}

std::expected<std::string, Failure> readSecret(const std::string& prompt) {
  std::optional<std::string> line;
  {
    // Before the prompt, because silencing throws away what was typed until then: nobody types a key before being
    // asked.
    const Silence silence(STDIN_FILENO);
    writeAll(STDERR_FILENO, prompt);
    line = readLine(STDIN_FILENO);
  }
  writeAll(STDERR_FILENO, "\n");
  if (!line) return failure(ExitCode::Failed, "Nothing was entered.");
  return *line;
}

std::expected<std::string, Failure> readInput(std::size_t limit) { return readDescriptor(STDIN_FILENO, limit); }

std::expected<std::string, Failure> readFile(const std::string& path, std::size_t limit) {
  if (path == "-") return readInput(limit);
  const Fd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file)
    return failure(errno == EACCES ? ExitCode::NotAllowed : ExitCode::NotFound,
                   std::format("\"{}\" cannot be read: {}.", path, std::strerror(errno)));
  return readDescriptor(file.get(), limit);
}

std::string whereWritten(std::string_view file) { return std::format(" What you wrote is in {}.", file); }

std::expected<Written, Failure> readFromEditor(std::string_view about, std::size_t limit) {
  auto path = environment("XDG_RUNTIME_DIR");
  if (path.empty()) path = "/tmp";
  path += "/coffer-XXXXXX.md";
  const Fd file(mkostemps(path.data(), 3, O_CLOEXEC));
  if (!file) return failure(ExitCode::Failed, std::format("Cannot make {}: {}.", path, std::strerror(errno)));
  writeAll(file.get(),
           std::format("\n{}\n{}\nThis line and what is below it are not part of the text.\n", kMark, about));

  std::string editor = environment("VISUAL");
  if (editor.empty()) editor = environment("EDITOR");
  if (editor.empty()) editor = "editor";
  // The editor is a command line, as for every other program that asks for it.
  const auto ended = runInteractive({"/bin/sh", "-c", editor + " \"$1\"", "sh", path});
  // Editors replace the file rather than write into it, so it is opened anew.
  const Fd written(open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (!written) return failure(ExitCode::Failed, std::format("Cannot read {}: {}.", path, std::strerror(errno)));
  auto text = readDescriptor(written.get(), limit + 4096);
  if (text) {
    if (const auto mark = text->find(kMark); mark != std::string::npos) {
      // What stays can be handed in again as it is. (If this fails, it has the mark in it.)
      static_cast<void>(ftruncate(written.get(), static_cast<off_t>(mark)));
      text->resize(mark);
    }
  }
  const auto first = text ? text->find_first_not_of(" \t\r\n") : 0;
  const bool empty = first == std::string::npos;
  if (empty) unlink(path.c_str());
  if (ended != 0)
    return failure(ExitCode::Failed, std::format("The editor ({}) ended with {}; nothing was sent.{}", editor, ended,
                                                 empty ? "" : whereWritten(path)));
  if (!text) {
    auto failed = std::move(text.error());
    failed.message += whereWritten(path);
    return std::unexpected(std::move(failed));
  }
  if (empty) return usageFailure("Nothing was written, so nothing was sent.");
  text->erase(0, first);
  text->erase(text->find_last_not_of(" \t\r\n") + 1);
  return Written{std::move(*text), std::move(path)};
}

void page(const std::string& text, const Terminal& terminal, bool usePager) {
  if (!usePager || !terminal.output || !isLongerThan(text, terminalHeight(), terminal.width.value_or(80))) {
    writeAll(STDOUT_FILENO, text);
    return;
  }
  std::string pager = environment("COFFER_PAGER");
  if (pager.empty()) pager = environment("PAGER");
  if (pager.empty()) pager = "less";
  if (pager == "cat" ||
      !runWithInput({"/bin/sh", "-c", pager}, text, {"LESS=FRX", "LESSSECURE=1", "LESSCHARSET=utf-8"}))
    writeAll(STDOUT_FILENO, text);
}

bool writeAll(int fd, std::string_view text) {
  while (!text.empty()) {
    const auto written = write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace coffer::cli
