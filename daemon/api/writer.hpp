#pragma once

#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <variant>
#include <vector>

#include <systemd/sd-bus.h>

#include "api/signature.hpp"
#include "api/utf8.hpp"

namespace coffer::api {

/// Appends values to a message. The first failure stays (a negative errno) and makes the rest without effect, so that
/// it is asked for once at the end.
class Writer {
 public:
  explicit Writer(sd_bus_message* message) : message_(message) {}

  [[nodiscard]] int error() const { return error_; }

  void append(bool value) { basic('b', static_cast<int>(value)); }
  void append(std::uint8_t value) { basic('y', value); }
  void append(std::uint16_t value) { basic('q', value); }
  void append(std::int32_t value) { basic('i', value); }
  void append(std::uint32_t value) { basic('u', value); }
  void append(std::int64_t value) { basic('x', value); }
  void append(std::uint64_t value) { basic('t', value); }
  void append(std::string_view value) { note(sd_bus_message_append_basic(message_, 's', toUtf8(value).c_str())); }
  void append(const char* value) { append(std::string_view(value)); }
  void append(const std::string& value) { append(std::string_view(value)); }
  void append(const ObjectPath& value) { note(sd_bus_message_append_basic(message_, 'o', value.text.c_str())); }
  void append(const Bytes& value) { note(sd_bus_message_append_array(message_, 'y', value.data(), value.size())); }

  template <class... Ts>
  void append(const std::variant<Ts...>& value) {
    std::visit([this]<class T>(const T& held) { variant(held); }, value);
  }
  template <class T>
  void append(const std::vector<T>& values) {
    inside('a', signatureOf<T>(), [&] {
      for (const auto& value : values)
        append(value);
    });
  }
  template <class K, class V>
  void append(const std::map<K, V>& values) {
    inside('a', "{" + signatureOf<K>() + signatureOf<V>() + "}", [&] {
      for (const auto& [key, value] : values)
        inside('e', signatureOf<K>() + signatureOf<V>(), [&] {
          append(key);
          append(value);
        });
    });
  }
  template <class... Ts>
  void append(const std::tuple<Ts...>& values) {
    inside('r', signatureOfAll<Ts...>(),
           [&] { std::apply([this](const auto&... each) { (append(each), ...); }, values); });
  }

  /// The value as a variant of its own type.
  template <class T>
  void variant(const T& value) {
    inside('v', signatureOf<T>(), [&] { append(value); });
  }
  /// One entry of an a{sv} that is open.
  template <class T>
  void entry(std::string_view key, const T& value) {
    inside('e', "sv", [&] {
      append(key);
      variant(value);
    });
  }
  /// A container around what `fill` appends: 'a', 'r', 'e' or 'v' and the signature of its contents.
  template <class Fill>
  void inside(char type, const std::string& contents, Fill fill) {
    note(sd_bus_message_open_container(message_, type, contents.c_str()));
    if (error_ < 0) return;
    fill();
    note(sd_bus_message_close_container(message_));
  }
  /// The descriptor is duplicated.
  void descriptor(int fd) { basic('h', fd); }

 private:
  template <class T>
  void basic(char type, T value) {
    note(sd_bus_message_append_basic(message_, type, &value));
  }
  void note(int result) {
    if (result < 0 && error_ >= 0) error_ = result;
  }

  sd_bus_message* message_;
  int error_ = 0;
};

}  // namespace coffer::api
