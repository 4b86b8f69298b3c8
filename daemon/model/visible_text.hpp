#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace coffer::model {

/// The text as it can be put on a terminal or into a log: every character that would act (control characters, escape
/// sequences), turn the direction of reading, or be there without being seen, stands as its code point (`<U+202E>`), a
/// byte that is not UTF-8 as `<0xFF>`. Line feeds and tabs stay; a carriage return before a line feed is dropped. Pure
/// and total.
std::string visibleText(std::string_view text);

/// At most so many bytes of a text that is UTF-8, cut between characters.
std::string shortened(std::string_view text, std::size_t bytes);

}  // namespace coffer::model
