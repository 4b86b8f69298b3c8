#include "workers/collector/output_reader.hpp"

#include <algorithm>

#include "model/limits.hpp"
#include "workers/collector/line_reader.hpp"

namespace coffer::collector {
namespace {

constexpr std::uint64_t kMostTokens = std::uint64_t{1} << 53;

bool holds(const std::vector<agents::LineCondition>& conditions, JsonPlace place) {
  return std::ranges::all_of(
      conditions, [&](const auto& condition) { return place.at(condition.pointer).scalar() == condition.value; });
}

std::string cut(std::string text, std::size_t limit) {
  if (text.size() <= limit) return text;
  auto end = limit;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0U) == 0x80U)
    --end;
  text.resize(end);
  return text;
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return result;
}

}  // namespace

AgentOutput OutputReader::read(int fd) {
  LineReader reader(fd);
  while (auto next = reader.next()) {
    ++output_.lines;
    if (next->tooLong) {
      ++output_.tooLong;
      transcript_->note("a line of output was too long to be read: " + next->text);
    } else if (protocol_->format == agents::OutputFormat::Text) {
      transcript_->message(next->text.empty() ? " " : next->text);
      // The end of a long answer is worth more than its beginning.
      output_.text += next->text + "\n";
      if (output_.text.size() > 2 * limits::kTextBytes) output_.text.erase(0, output_.text.size() - limits::kTextBytes);
    } else {
      line(next->text);
    }
  }
  if (output_.text.size() > limits::kTextBytes) output_.text.erase(0, output_.text.size() - limits::kTextBytes);
  return std::move(output_);
}

void OutputReader::line(std::string_view text) {
  if (text.find_first_not_of(" \t") == std::string_view::npos) return;
  // What begins with something else is not worth a parser's time, and is often the agent's own words about itself.
  const auto document = text.front() == '{' ? JsonDocument::parse(text) : std::unexpected(std::string());
  if (!document || !document->root().isObject()) {
    ++output_.garbage;
    if (output_.garbage <= limits::kGarbageLinesShown) transcript_->note(text.substr(0, 500));
    return;
  }
  for (const auto& rule : protocol_->lines) {
    if (!holds(rule.when, document->root())) continue;
    if (rule.each.empty()) {
      apply(rule, document->root());
      continue;
    }
    for (const auto& item : document->root().at(rule.each).items())
      if (holds(rule.element, item)) apply(rule, item);
  }
}

void OutputReader::count(JsonPlace place, const std::string& pointer, std::uint64_t TokenCounts::* member) {
  if (pointer.empty()) return;
  const auto value = place.at(pointer).count();
  if (!value) return;
  if (!output_.usage) output_.usage.emplace();
  auto& total = (*output_.usage).*member;
  total = protocol_->usage == agents::UsageMode::Summed ? std::min(kMostTokens, total + *value) : *value;
}

void OutputReader::apply(const agents::LineRule& rule, JsonPlace place) {
  if (rule.success) output_.success = true;
  if (!rule.session.empty())
    if (auto session = place.at(rule.session).string(); session && session->size() <= limits::kAgentWordBytes)
      output_.session = *session;
  if (!rule.text.empty())
    if (auto text = place.at(rule.text).string(); text && !text->empty())
      output_.text = cut(std::move(*text), limits::kTextBytes);
  if (!rule.message.empty()) transcript_->message(place.at(rule.message).text());
  if (!rule.command.empty()) transcript_->command(place.at(rule.command).text());
  if (!rule.commandOutput.empty()) transcript_->output(place.at(rule.commandOutput).text());
  if (!rule.commandExit.empty())
    if (const auto code = place.at(rule.commandExit).count(); code && *code != 0)
      transcript_->exitCode(std::to_string(*code));
  if (!rule.error.empty()) {
    if (auto error = place.at(rule.error).text(); !error.empty()) {
      transcript_->error(error);
      output_.error = cut(std::move(error), limits::kWordsBytes);
    }
  }
  if (!rule.status.empty())
    if (const auto status = place.at(rule.status).count(); status && *status >= 100 && *status < 1000)
      output_.status = *status;
  count(place, rule.input, &TokenCounts::input);
  count(place, rule.cached, &TokenCounts::cached);
  count(place, rule.cacheWrite, &TokenCounts::cacheWrite);
  count(place, rule.output, &TokenCounts::output);
}

agents::ErrorClass classify(const agents::Protocol& protocol, std::uint64_t status, std::string_view error) {
  using agents::ErrorClass;
  if (status == 429) return ErrorClass::RateLimit;
  if (status == 401 || status == 403) return ErrorClass::Auth;
  if (status >= 500) return ErrorClass::Overloaded;
  const auto text = lower(error);
  for (const auto& rule : protocol.errors)
    if (text.contains(lower(rule.contains))) return rule.errorClass;
  return ErrorClass::Other;
}

}  // namespace coffer::collector
