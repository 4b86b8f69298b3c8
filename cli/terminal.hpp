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

/// What the user wrote in their editor; lines below the mark are not part of it. An empty text is a usage failure.
std::expected<std::string, Failure> readFromEditor(std::string_view about, std::size_t limit);

/// Writes to standard output, through a pager when that is a terminal and the text is longer than it.
void page(const std::string& text, const Terminal& terminal, bool usePager);

/// Writes all of it; false when the other side is gone.
bool writeAll(int fd, std::string_view text);

}  // namespace coffer::cli
