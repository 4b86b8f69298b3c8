#define SD_JOURNAL_SUPPRESS_LOCATION

#include "os/log.hpp"

#include <array>
#include <cstdio>
#include <vector>

#include <sys/uio.h>
#include <systemd/sd-journal.h>

namespace coffer::log {
namespace {

struct State {
  Level mostVerbose = Level::Info;
  Target target = Target::Journal;
  std::string identifier = "cofferd";
};

State& state() {
  static State only;
  return only;
}

constexpr std::array<std::string_view, 8> kLevels = {"emerg",   "alert",  "crit", "err",
                                                     "warning", "notice", "info", "debug"};

void writeToJournal(Level level, std::string_view message, std::initializer_list<Field> fields,
                    std::string_view messageId) {
  std::vector<std::string> lines;
  const auto add = [&](std::string_view name, std::string_view value) {
    lines.push_back(std::string(name) + "=" + std::string(value));
  };
  add("PRIORITY", std::to_string(static_cast<int>(level)));
  add("SYSLOG_IDENTIFIER", state().identifier);
  add("MESSAGE", message);
  if (!messageId.empty()) add("MESSAGE_ID", messageId);
  for (const auto& [name, value] : fields)
    add(name, value);
  std::vector<iovec> parts;
  parts.reserve(lines.size());
  for (auto& line : lines)
    parts.push_back({.iov_base = line.data(), .iov_len = line.size()});
  sd_journal_sendv(parts.data(), static_cast<int>(parts.size()));
}

}  // namespace

void write(Level level, std::string_view message, std::initializer_list<Field> fields, std::string_view messageId) {
  if (level > state().mostVerbose) return;
  if (state().target == Target::Journal) writeToJournal(level, message, fields, messageId);
  if (state().target == Target::Console)
    std::fprintf(stderr, "%s: %.*s\n", state().identifier.c_str(), static_cast<int>(message.size()), message.data());
}

void setMostVerbose(Level level) { state().mostVerbose = level; }
Level mostVerbose() { return state().mostVerbose; }
void setTarget(Target target) { state().target = target; }
Target target() { return state().target; }
void setIdentifier(std::string_view identifier) { state().identifier = identifier; }
std::string identifier() { return state().identifier; }

std::string_view levelName(Level level) { return kLevels[static_cast<std::size_t>(level)]; }

std::optional<Level> levelOf(std::string_view name) {
  for (std::size_t i = 0; i < kLevels.size(); ++i)
    if (kLevels[i] == name) return static_cast<Level>(i);
  return std::nullopt;
}

std::string_view targetName(Target target) {
  return target == Target::Journal ? "journal" : target == Target::Console ? "console" : "null";
}

std::optional<Target> targetOf(std::string_view name) {
  if (name == "journal" || name == "auto") return Target::Journal;
  if (name == "console") return Target::Console;
  if (name == "null") return Target::Null;
  return std::nullopt;
}

}  // namespace coffer::log
