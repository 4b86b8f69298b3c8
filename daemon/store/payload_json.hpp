#pragma once

#include <expected>
#include <string>

#include "dbus/error.hpp"
#include "model/event.hpp"

namespace coffer::store {

/// A text as JSON can hold it: bytes that are no UTF-8, and NUL, become U+FFFD.
std::string asText(const std::string& bytes);

/// One flat JSON object. Strings have to be asText() already.
std::string toJson(const model::Payload& payload);

/// Errors: Internal when it is no flat object of strings and integers.
std::expected<model::Payload, Error> fromJson(const std::string& json);

}  // namespace coffer::store
