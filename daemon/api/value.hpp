#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <variant>
#include <vector>

namespace coffer::api {

/// Bytes that need not be text, such as a path.
using Bytes = std::vector<std::uint8_t>;

/// An object path on the bus; a type of its own because the bus tells paths and text apart.
struct ObjectPath {
  std::string text;
  auto operator<=>(const ObjectPath&) const = default;
};

/// What a variant in our dictionaries can hold.
using Value = std::variant<bool, std::int32_t, std::uint32_t, std::int64_t, std::uint64_t, std::string, ObjectPath,
                           Bytes, std::vector<std::string>, std::map<std::string, std::string>,
                           std::map<std::string, std::uint64_t>, std::tuple<std::string, std::string, std::uint64_t>>;

/// A dictionary a{sv}: options, filters, rows of lists, fields of events.
using Dictionary = std::map<std::string, Value>;

}  // namespace coffer::api
