#include "api/reader.hpp"

#include <format>

#include "model/limits.hpp"

namespace coffer::api {

void Reader::read(std::string& value) {
  const char* text = nullptr;
  basic('s', text);
  if (!fault_ && text != nullptr) value = text;
}

void Reader::read(ObjectPath& value) {
  const char* text = nullptr;
  basic('o', text);
  if (!fault_ && text != nullptr) value.text = text;
}

void Reader::read(Bytes& value) {
  const void* data = nullptr;
  std::size_t size = 0;
  if (fault_) return;
  if (sd_bus_message_read_array(message_, 'y', &data, &size) < 0) return wrong("the message cannot be read");
  const auto* bytes = static_cast<const std::uint8_t*>(data);
  if (size > 0) value.assign(bytes, bytes + size);
}

void Reader::readInto(bool& value) {
  int number = 0;
  basic('b', number);
  value = number != 0;
}

void Reader::readInto(std::vector<std::string>& values) {
  if (fault_) return;
  if (sd_bus_message_enter_container(message_, 'a', "s") < 0) return wrong("the message cannot be read");
  while (!fault_ && sd_bus_message_at_end(message_, 0) == 0) {
    if (values.size() == limits::kOptionEntries) return wrong("a list in the options is longer than the limit");
    read(values.emplace_back());
  }
  sd_bus_message_exit_container(message_);
}

void Reader::readInto(std::map<std::string, std::string>& values) {
  if (fault_) return;
  if (sd_bus_message_enter_container(message_, 'a', "{ss}") < 0) return wrong("the message cannot be read");
  while (!fault_ && sd_bus_message_enter_container(message_, 'e', "ss") > 0) {
    if (values.size() == limits::kOptionEntries) return wrong("a dictionary in the options is longer than the limit");
    std::string key;
    std::string value;
    read(key);
    read(value);
    sd_bus_message_exit_container(message_);
    if (!values.emplace(key, std::move(value)).second) return wrong(std::format("\"{}\" is given twice", key));
  }
  sd_bus_message_exit_container(message_);
}

template <class T>
bool Reader::readAs(const char* contents, Value& value) {
  if (contents != signatureOf<T>()) return false;
  readInto(value.emplace<T>());
  return true;
}

void Reader::readValue(const std::string& key, Value& value) {
  char type = 0;
  const char* contents = nullptr;
  if (sd_bus_message_peek_type(message_, &type, &contents) <= 0 || type != 'v' || contents == nullptr)
    return wrong("the message cannot be read");
  if (sd_bus_message_enter_container(message_, 'v', contents) < 0) return wrong("the message cannot be read");
  const bool known = readAs<bool>(contents, value) || readAs<std::uint32_t>(contents, value) ||
                     readAs<std::uint64_t>(contents, value) || readAs<std::string>(contents, value) ||
                     readAs<ObjectPath>(contents, value) || readAs<std::vector<std::string>>(contents, value) ||
                     readAs<std::map<std::string, std::string>>(contents, value);
  if (!known) return wrong(std::format("the option \"{}\" has the type {}, which no option has", key, contents));
  sd_bus_message_exit_container(message_);
}

void Reader::read(Dictionary& values) {
  if (fault_) return;
  if (sd_bus_message_enter_container(message_, 'a', "{sv}") < 0) return wrong("the message cannot be read");
  while (!fault_ && sd_bus_message_enter_container(message_, 'e', "sv") > 0) {
    if (values.size() == limits::kOptionEntries) return wrong("more options than the limit");
    std::string key;
    read(key);
    Value value;
    readValue(key, value);
    sd_bus_message_exit_container(message_);
    if (fault_) return;
    if (!values.emplace(key, std::move(value)).second)
      return wrong(std::format("the option \"{}\" is given twice", key));
  }
  sd_bus_message_exit_container(message_);
}

}  // namespace coffer::api
