#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "dbus/error.hpp"

namespace coffer::engine {

/// Failed: something is refused or stands still until it is mended. Warning: it goes on, with less than it should have.
enum class CheckState : std::uint8_t { Ok, Warning, Failed };

/// One thing that this machine needs, as it was found. What a person is told about it, by a check of the system and by
/// a refusal, is made here and nowhere else.
struct Check {
  std::string name;
  CheckState state = CheckState::Ok;
  std::string found;    ///< what was found
  std::string problem;  ///< what is wrong with it, a sentence without its stop; empty when nothing is
  std::string remedy;   ///< the command or the file that mends it, without a stop
};

inline Check good(std::string name, std::string found) {
  return {std::move(name), CheckState::Ok, std::move(found), {}, {}};
}

inline Check warns(std::string name, std::string found, std::string problem, std::string remedy) {
  return {std::move(name), CheckState::Warning, std::move(found), std::move(problem), std::move(remedy)};
}

inline Check fails(std::string name, std::string found, std::string problem, std::string remedy) {
  return {std::move(name), CheckState::Failed, std::move(found), std::move(problem), std::move(remedy)};
}

/// What somebody is told who is refused because of it: the same words.
inline Error refusalOf(const Check& check, ErrorCode code = ErrorCode::Sandbox) {
  std::string message = code == ErrorCode::Sandbox ? "no sandbox is started: " : "";
  message += check.problem;
  if (!check.remedy.empty()) message += ". To mend it: " + check.remedy;
  return {code, std::move(message)};
}

}  // namespace coffer::engine
