#pragma once

#include <cstddef>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "failure.hpp"

namespace coffer::cli {

/// What the three standard descriptors are connected to.
struct Terminal {
  bool input = false;                ///< someone can be asked
  bool output = false;               ///< someone reads, so colours, widths and a pager make sense
  bool error = false;                ///< progress can be shown
  bool colour = false;               ///< output is a terminal that knows colours, and NO_COLOR is not set
  std::optional<std::size_t> width;  ///< columns of the output's terminal

  static Terminal detect();
};

/// Asks on standard error and reads a line; yes only for "y" or "yes". False at the end of input.
bool confirm(const std::string& question);

/// A line typed without echo, without its line end. The echo is back also after Ctrl-C.
std::expected<std::string, Failure> readSecret(const std::string& prompt);

/// Everything from standard input, at most `limit` bytes.
std::expected<std::string, Failure> readInput(std::size_t limit);

/// A file of the user's, "-" for standard input.
std::expected<std::string, Failure> readFile(const std::string& path, std::size_t limit);

/// A text from an editor. Its file holds it until whoever has it removes it, which is when it was taken.
struct Written {
  std::string text;
  std::string file;
};

/// What the user wrote in their editor; lines below the mark are not part of it. An empty text is a usage failure, and
/// leaves no file; any other failure names the file that what was written is in.
std::expected<Written, Failure> readFromEditor(std::string_view about, std::size_t limit);

/// A sentence, with a space before it, for a failure after which a text that was written is still there.
std::string whereWritten(std::string_view file);

/// Writes to standard output, through a pager when that is a terminal and the text is longer than it.
void page(const std::string& text, const Terminal& terminal, bool usePager);

/// Writes all of it; false when the other side is gone.
bool writeAll(int fd, std::string_view text);

}  // namespace coffer::cli
