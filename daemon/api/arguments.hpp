#pragma once

#include <memory>
#include <string>
#include <utility>

#include "api/backend.hpp"
#include "api/call.hpp"
#include "api/options.hpp"

/// What several interfaces do with arguments and answers.
namespace coffer::api {

/// Who asks and the request-id among the options.
[[nodiscard]] Request requestOf(const Call& call, Options& options);

/// An option that is text or a list or dictionary of text, refused when one text is longer than
/// limits::kOptionTextBytes.
[[nodiscard]] std::optional<std::string> takeText(Options& options, const std::string& key);
[[nodiscard]] std::optional<Strings> takeList(Options& options, const std::string& key);
[[nodiscard]] StringMap takeMap(Options& options, const std::string& key);

/// Refuses a text that is longer than limits::kTextBytes.
[[nodiscard]] std::expected<void, Error> checkText(const std::string& what, const std::string& text);

/// [a-z0-9][a-z0-9-]{0,30}
[[nodiscard]] std::expected<void, Error> checkName(const std::string& name);

/// Reads arguments and gives them to `use`; an error answers the call.
template <class... Ts, class Use>
void withArguments(const CallPointer& call, Use use) {
  auto arguments = call->arguments<Ts...>();
  if (!arguments) return call->fail(arguments.error());
  std::apply(use, std::move(*arguments));
}

/// Takes an outcome that has nothing to say but whether it went well.
[[nodiscard]] inline Done<Nothing> answering(const CallPointer& call) {
  return [call](const std::expected<Nothing, Error>& outcome) {
    if (!outcome) return call->fail(outcome.error());
    call->answer();
  };
}
/// Takes an outcome and answers with what `values` appends of it.
template <class T, class Values>
[[nodiscard]] Done<T> answering(const CallPointer& call, Values values) {
  return [call, values](const std::expected<T, Error>& outcome) {
    if (!outcome) return call->fail(outcome.error());
    call->answerWith([&](Writer& writer) { values(writer, *outcome); });
  };
}

}  // namespace coffer::api
