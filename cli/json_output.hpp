#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "dictionary.hpp"

// json-glib is used in the implementation only: its headers bring all of GLib.
struct _JsonObject;

namespace coffer::cli {

/// One JSON object under construction. What comes from the bus keeps the bus's names and values: numbers stay numbers,
/// times are microseconds, structures are arrays, dictionaries are objects. Bytes (ay) are a string when they are UTF-8
/// and an array of numbers when they are not. A number above 2^63-1 is written as a floating point number.
class Json {
 public:
  Json();

  Json& add(std::string_view name, std::string_view text);
  Json& add(std::string_view name, const char* text) { return add(name, std::string_view(text)); }
  Json& add(std::string_view name, std::uint64_t number);
  Json& add(std::string_view name, bool value);
  Json& add(std::string_view name, const sdbus::Variant& value);
  Json& add(std::string_view name, Json value);
  Json& add(std::string_view name, std::vector<Json> values);
  Json& add(std::string_view name, const std::vector<std::string>& values);
  /// Every entry of a dictionary, under its own name.
  Json& addAll(const Dictionary& values);

  static Json of(const Dictionary& values);
  static std::vector<Json> of(const std::vector<Dictionary>& values);

  /// The object, indented, with a line end.
  [[nodiscard]] std::string text() const;

 private:
  struct Free {
    void operator()(_JsonObject* object) const;
  };
  std::unique_ptr<_JsonObject, Free> object_;
};

}  // namespace coffer::cli
