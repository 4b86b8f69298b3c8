#include "agents/turn_brief.hpp"

#include <array>
#include <ctime>

#include "model/limits.hpp"
#include "model/spelling.hpp"

namespace coffer::agents {
namespace {

/// A TOML basic string. Written here and not by a library because it is the one thing of TOML we write.
std::string tomlText(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (byte < 0x20 || byte == 0x7f) {
      constexpr std::string_view digits = "0123456789abcdef";
      result += "\\u00";
      result += digits[byte >> 4];
      result += digits[byte & 15];
    } else {
      result += c;
    }
  }
  return result + '"';
}

/// RFC 3339 in UTC.
std::string timeText(std::uint64_t micros) {
  const auto seconds = static_cast<std::time_t>(micros / 1'000'000);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  std::array<char, 32> text{};
  const auto size = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return {text.data(), size};
}

}  // namespace

std::string commentsText(const std::vector<Comment>& comments) {
  std::vector<std::string> sections;
  std::size_t bytes = 0;
  for (auto it = comments.rbegin(); it != comments.rend(); ++it) {
    auto section = "## " + std::string(it->writers ? "The writer answered" : "The person said") + "\n\n" + it->text;
    if (!section.ends_with('\n')) section += '\n';
    bytes += section.size() + 1;
    if (bytes > limits::kCommentsBytes && !sections.empty()) break;
    sections.push_back(std::move(section));
  }
  std::string text;
  if (sections.size() < comments.size())
    text = "(" + std::to_string(comments.size() - sections.size()) + " older left out, being too long)\n";
  for (auto it = sections.rbegin(); it != sections.rend(); ++it)
    text += (text.empty() ? "" : "\n") + *it;
  return text;
}

std::string turnToml(const TurnBrief& brief) {
  std::string text;
  const auto line = [&](std::string_view key, const std::string& value) {
    text += key;
    text += " = ";
    text += value;
    text += '\n';
  };
  line("task", std::to_string(brief.task));
  line("title", tomlText(brief.title));
  line("role", tomlText(model::spell(brief.role)));
  line("turn", tomlText(model::spell(brief.kind)));
  line("round", std::to_string(brief.round));
  line("base", tomlText(brief.base));
  line("branch", tomlText(brief.branch));
  if (brief.deadline != 0) line("deadline", timeText(brief.deadline));
  std::string commands;
  for (const auto& command : brief.commands)
    commands += (commands.empty() ? "" : ", ") + tomlText(command);
  line("commands", "[" + commands + "]");
  return text;
}

std::vector<std::pair<std::string, std::string>> turnFiles(const TurnBrief& brief) {
  std::vector<std::pair<std::string, std::string>> files;
  files.emplace_back("turn.toml", turnToml(brief));
  const auto add = [&](std::string_view name, const std::string& content) {
    if (!content.empty()) files.emplace_back(name, content);
  };
  add("plan.md", brief.plan);
  add("comments.md", brief.comments);
  add("feedback.md", brief.feedback);
  add("review.json", brief.review);
  return files;
}

}  // namespace coffer::agents
