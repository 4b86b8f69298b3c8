#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace coffer::api {

/// The text with everything that the bus does not carry in a string (bad UTF-8, zero bytes) replaced by U+FFFD. A bus
/// daemon closes the connection of who sends such a string, so nothing goes out without this.
[[nodiscard]] std::string toUtf8(std::string_view bytes);

/// The greatest length not above `length` at which no character is cut; bytes that are no UTF-8 count one by one.
[[nodiscard]] std::size_t wholeCharacters(std::string_view bytes, std::size_t length);

/// For showing a path: printable UTF-8 as it is, every other byte and the backslash as \xNN.
[[nodiscard]] std::string toPrintable(std::string_view bytes);

}  // namespace coffer::api
