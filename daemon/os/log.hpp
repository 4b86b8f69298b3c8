#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

/// The journal, with fields. Secrets and what agents wrote never go in here.
namespace coffer::log {

/// As in syslog(3); a smaller number is more urgent.
enum class Level : int { Emergency, Alert, Critical, Error, Warning, Notice, Info, Debug };

/// Where lines go: to the journal, to standard error (tests, a terminal), or nowhere.
enum class Target { Journal, Console, Null };

/// A field's name (dbus/names.hpp) and value.
using Field = std::pair<std::string_view, std::string>;

/// One line. With a message id it has an entry in the catalog.
void write(Level level, std::string_view message, std::initializer_list<Field> fields = {},
           std::string_view messageId = {});

inline void error(std::string_view message, std::initializer_list<Field> fields = {}) {
  write(Level::Error, message, fields);
}
inline void warning(std::string_view message, std::initializer_list<Field> fields = {}) {
  write(Level::Warning, message, fields);
}
inline void info(std::string_view message, std::initializer_list<Field> fields = {}) {
  write(Level::Info, message, fields);
}
inline void debug(std::string_view message, std::initializer_list<Field> fields = {}) {
  write(Level::Debug, message, fields);
}

/// Lines less urgent than this are not written; Info at first.
void setMostVerbose(Level level);
[[nodiscard]] Level mostVerbose();
void setTarget(Target target);
[[nodiscard]] Target target();
/// Of every line from now on; "cofferd" at first.
void setIdentifier(std::string_view identifier);
[[nodiscard]] std::string identifier();

// As org.freedesktop.LogControl1 spells them: emerg, alert, crit, err, ..., debug; journal, console, null (and auto).
[[nodiscard]] std::string_view levelName(Level level);
[[nodiscard]] std::optional<Level> levelOf(std::string_view name);
[[nodiscard]] std::string_view targetName(Target target);
[[nodiscard]] std::optional<Target> targetOf(std::string_view name);

}  // namespace coffer::log
