#include "agents/protocol.hpp"

#include <array>
#include <optional>
#include <utility>

namespace coffer::agents {
namespace {

constexpr std::array kUsageModes = std::to_array<std::pair<UsageMode, std::string_view>>(
    {{UsageMode::PerTurn, "per-turn"}, {UsageMode::Cumulative, "cumulative"}, {UsageMode::Summed, "summed"}});
constexpr std::array kFormats = std::to_array<std::pair<OutputFormat, std::string_view>>(
    {{OutputFormat::JsonLines, "json-lines"}, {OutputFormat::Text, "text"}});
constexpr std::array kErrorClasses =
    std::to_array<std::pair<ErrorClass, std::string_view>>({{ErrorClass::RateLimit, "rate-limit"},
                                                            {ErrorClass::Auth, "auth"},
                                                            {ErrorClass::Overloaded, "overloaded"},
                                                            {ErrorClass::Context, "context"},
                                                            {ErrorClass::Other, "other"}});
constexpr std::array kPointers =
    std::to_array<std::pair<std::string LineRule::*, std::string_view>>({{&LineRule::each, "each"},
                                                                         {&LineRule::session, "session"},
                                                                         {&LineRule::text, "text"},
                                                                         {&LineRule::message, "message"},
                                                                         {&LineRule::command, "command"},
                                                                         {&LineRule::commandOutput, "command-output"},
                                                                         {&LineRule::commandExit, "command-exit"},
                                                                         {&LineRule::error, "error"},
                                                                         {&LineRule::status, "status"},
                                                                         {&LineRule::input, "input"},
                                                                         {&LineRule::cached, "cached"},
                                                                         {&LineRule::cacheWrite, "cache-write"},
                                                                         {&LineRule::output, "output"}});

template <typename Table, typename Value>
std::string_view wordOf(const Table& table, Value value) {
  for (const auto& [entry, word] : table)
    if (entry == value) return word;
  return {};
}

template <typename Value, std::size_t Size>
std::optional<Value> valueOf(const std::array<std::pair<Value, std::string_view>, Size>& table, std::string_view word) {
  for (const auto& [value, entry] : table)
    if (entry == word) return value;
  return std::nullopt;
}

void addConditions(Records& records, std::string_view name, const std::vector<LineCondition>& conditions) {
  for (const auto& condition : conditions) {
    records.add(std::string(name) + ".pointer", condition.pointer);
    records.add(std::string(name) + ".value", condition.value);
  }
}

std::vector<LineCondition> conditionsOf(const Records& records, std::string_view name) {
  std::vector<LineCondition> result;
  const auto pointers = records.all(std::string(name) + ".pointer");
  const auto values = records.all(std::string(name) + ".value");
  for (std::size_t i = 0; i < pointers.size() && i < values.size(); ++i)
    result.push_back({std::string(pointers[i]), std::string(values[i])});
  return result;
}

}  // namespace

std::string_view errorClassName(ErrorClass errorClass) { return wordOf(kErrorClasses, errorClass); }

void Protocol::toRecords(Records& request) const {
  request.add("protocol.name", name);
  request.add("protocol.format", wordOf(kFormats, format));
  request.add("protocol.usage", wordOf(kUsageModes, usage));
  request.add("protocol.input-includes-cached", std::string_view(inputIncludesCached ? "1" : "0"));
  for (const auto& line : lines) {
    Records records;
    addConditions(records, "when", line.when);
    addConditions(records, "element", line.element);
    for (const auto& [pointer, word] : kPointers)
      if (!(line.*pointer).empty()) records.add(word, line.*pointer);
    if (line.success) records.add("success", std::string_view("1"));
    request.add("protocol.line", records.serialize());
  }
  for (const auto& error : errors) {
    Records records;
    records.add("contains", error.contains);
    records.add("class", errorClassName(error.errorClass));
    request.add("protocol.error", records.serialize());
  }
}

std::expected<Protocol, std::string> Protocol::fromRecords(const Records& request) {
  Protocol result;
  result.name = request.get("protocol.name");
  const auto format = valueOf(kFormats, request.get("protocol.format"));
  const auto usage = valueOf(kUsageModes, request.get("protocol.usage"));
  if (!format || !usage) return std::unexpected("the request has no protocol");
  result.format = *format;
  result.usage = *usage;
  result.inputIncludesCached = request.get("protocol.input-includes-cached") == "1";
  for (const auto text : request.all("protocol.line")) {
    const auto records = Records::parse(text);
    if (!records) return std::unexpected("protocol.line: " + records.error());
    LineRule line;
    line.when = conditionsOf(*records, "when");
    line.element = conditionsOf(*records, "element");
    for (const auto& [pointer, word] : kPointers)
      line.*pointer = records->get(word);
    line.success = records->get("success") == "1";
    result.lines.push_back(std::move(line));
  }
  for (const auto text : request.all("protocol.error")) {
    const auto records = Records::parse(text);
    if (!records) return std::unexpected("protocol.error: " + records.error());
    result.errors.push_back({std::string(records->get("contains")),
                             valueOf(kErrorClasses, records->get("class")).value_or(ErrorClass::Other)});
  }
  return result;
}

}  // namespace coffer::agents
