#include "api/arguments.hpp"

#include <algorithm>
#include <format>

#include "dbus/names.hpp"
#include "model/limits.hpp"

namespace coffer::api {
namespace {

void checkLength(Options& options, const std::string& key, const std::string& text) {
  if (text.size() > limits::kOptionTextBytes)
    options.refuse(ErrorCode::TooLarge,
                   std::format("a text in the option \"{}\" is longer than {} bytes", key, limits::kOptionTextBytes));
}

}  // namespace

Request requestOf(const Call& call, Options& options) {
  Request request{.caller = call.caller, .id = {}};
  const auto id = options.take<std::string>(std::string(names::kRequestId));
  if (!id) return request;
  if (id->empty() || id->size() > limits::kRequestIdBytes)
    options.refuse(ErrorCode::InvalidArgument,
                   std::format("a request-id has 1 to {} characters", limits::kRequestIdBytes));
  request.id = *id;
  return request;
}

std::optional<std::string> takeText(Options& options, const std::string& key) {
  auto text = options.take<std::string>(key);
  if (text) checkLength(options, key, *text);
  return text;
}

std::optional<Strings> takeList(Options& options, const std::string& key) {
  auto list = options.take<Strings>(key);
  if (list)
    for (const auto& text : *list)
      checkLength(options, key, text);
  return list;
}

StringMap takeMap(Options& options, const std::string& key) {
  auto map = options.take<StringMap>(key).value_or(StringMap{});
  for (const auto& [name, text] : map) {
    checkLength(options, key, name);
    checkLength(options, key, text);
  }
  return map;
}

std::expected<void, Error> checkText(const std::string& what, const std::string& text) {
  if (text.size() <= limits::kTextBytes) return {};
  return std::unexpected(Error{ErrorCode::TooLarge, std::format("{} has {} bytes, {} are the limit; put what is long "
                                                                "into a file of the repository",
                                                                what, text.size(), limits::kTextBytes)});
}

std::expected<void, Error> checkName(const std::string& name) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  const bool good = !name.empty() && name.size() <= 31 && letter(name.front()) &&
                    std::ranges::all_of(name, [&](char c) { return letter(c) || c == '-'; });
  if (good) return {};
  return std::unexpected(Error{ErrorCode::InvalidArgument,
                               "a name has 1 to 31 small letters, digits and dashes, and does not begin with a dash"});
}

}  // namespace coffer::api
