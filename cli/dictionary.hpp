#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <sdbus-c++/Types.h>

namespace coffer::cli {

/// Properties of an object, or one entry of a list: the bus's names and values.
using Dictionary = std::map<std::string, sdbus::Variant>;

/// The value of that name, or a default one when it is missing or of another type: a newer or older daemon is no reason
/// to fail.
template <typename T>
T valueOf(const Dictionary& values, const std::string& name, T otherwise = {}) {
  const auto found = values.find(name);
  if (found == values.end() || found->second.isEmpty() || !found->second.containsValueOfType<T>()) return otherwise;
  return found->second.get<T>();
}

inline std::string textOf(const Dictionary& values, const std::string& name) {
  return valueOf<std::string>(values, name);
}

inline std::uint64_t numberOf(const Dictionary& values, const std::string& name) {
  return valueOf<std::uint64_t>(values, name);
}

inline std::uint32_t smallNumberOf(const Dictionary& values, const std::string& name) {
  return valueOf<std::uint32_t>(values, name);
}

inline std::vector<std::string> textsOf(const Dictionary& values, const std::string& name) {
  return valueOf<std::vector<std::string>>(values, name);
}

inline std::map<std::string, std::string> mapOf(const Dictionary& values, const std::string& name) {
  return valueOf<std::map<std::string, std::string>>(values, name);
}

/// A number that the bus has as u. One that is larger is sent as the largest, which is refused like it.
inline sdbus::Variant smallNumber(std::uint64_t number) {
  return sdbus::Variant(static_cast<std::uint32_t>(std::min<std::uint64_t>(number, UINT32_MAX)));
}

/// What Task.Waiting holds: a code, words, and until when (0: not known).
using WaitingFor = sdbus::Struct<std::string, std::string, std::uint64_t>;

}  // namespace coffer::cli
