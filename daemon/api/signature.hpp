#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <variant>
#include <vector>

#include "api/value.hpp"

namespace coffer::api {

/// The D-Bus signature of a C++ type, so that tables of members and code cannot disagree about types.
template <class T>
struct SignatureOf;

template <class T>
std::string signatureOf() {
  return SignatureOf<T>::text();
}

#define COFFER_BASIC_SIGNATURE(type, code)     \
  template <>                                  \
  struct SignatureOf<type> {                   \
    static std::string text() { return code; } \
  }
COFFER_BASIC_SIGNATURE(bool, "b");
COFFER_BASIC_SIGNATURE(std::uint8_t, "y");
COFFER_BASIC_SIGNATURE(std::uint16_t, "q");
COFFER_BASIC_SIGNATURE(std::int32_t, "i");
COFFER_BASIC_SIGNATURE(std::uint32_t, "u");
COFFER_BASIC_SIGNATURE(std::int64_t, "x");
COFFER_BASIC_SIGNATURE(std::uint64_t, "t");
COFFER_BASIC_SIGNATURE(std::string, "s");
COFFER_BASIC_SIGNATURE(ObjectPath, "o");
#undef COFFER_BASIC_SIGNATURE

template <class... Ts>
struct SignatureOf<std::variant<Ts...>> {
  static std::string text() { return "v"; }
};
template <class T>
struct SignatureOf<std::vector<T>> {
  static std::string text() { return "a" + signatureOf<T>(); }
};
template <class K, class V>
struct SignatureOf<std::map<K, V>> {
  static std::string text() { return "a{" + signatureOf<K>() + signatureOf<V>() + "}"; }
};
template <class... Ts>
struct SignatureOf<std::tuple<Ts...>> {
  static std::string text() { return "(" + (std::string() + ... + signatureOf<Ts>()) + ")"; }
};

/// Of several arguments in a row.
template <class... Ts>
std::string signatureOfAll() {
  return (std::string() + ... + signatureOf<Ts>());
}

}  // namespace coffer::api
