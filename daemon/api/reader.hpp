#pragma once

#include <expected>
#include <optional>
#include <string>
#include <tuple>

#include <systemd/sd-bus.h>

#include "api/signature.hpp"
#include "dbus/error.hpp"

namespace coffer::api {

/// Reads arguments of a message whose signature has been compared with the method's. What can still be wrong is a
/// dictionary: an entry twice, too many, or of a type that no option has. The first fault stays.
class Reader {
 public:
  explicit Reader(sd_bus_message* message) : message_(message) {}

  template <class... Ts>
  static std::expected<std::tuple<Ts...>, Error> arguments(sd_bus_message* message) {
    Reader reader(message);
    std::tuple<Ts...> values;
    std::apply([&](auto&... each) { (reader.read(each), ...); }, values);
    // Whoever looks before the one who acts leaves the message as it was.
    sd_bus_message_rewind(message, 1);
    if (reader.fault_) return std::unexpected(*reader.fault_);
    return values;
  }

 private:
  void read(std::uint32_t& value) { basic('u', value); }
  void read(std::uint64_t& value) { basic('t', value); }
  void read(std::string& value);
  void read(ObjectPath& value);
  void read(Bytes& value);
  /// The number of a descriptor that the message owns.
  void read(int& value) { basic('h', value); }
  void read(Dictionary& values);
  void readValue(const std::string& key, Value& value);
  template <class T>
  bool readAs(const char* contents, Value& value);
  void readInto(bool& value);
  void readInto(std::vector<std::string>& values);
  void readInto(std::map<std::string, std::string>& values);
  template <class T>
  void readInto(T& value) {
    read(value);
  }

  template <class T>
  void basic(char type, T& value) {
    if (!fault_ && sd_bus_message_read_basic(message_, type, &value) < 0) wrong("the message cannot be read");
  }
  void wrong(std::string what) {
    if (!fault_) fault_ = Error{ErrorCode::InvalidArgument, std::move(what)};
  }

  sd_bus_message* message_;
  std::optional<Error> fault_;
};

}  // namespace coffer::api
