#include "workers/collector/plan_reader.hpp"

#include <algorithm>
#include <array>

#include <glib.h>

#include "agents/toml_document.hpp"
#include "model/limits.hpp"

namespace coffer::collector {
namespace {

constexpr std::string_view kHeading = "acceptance criteria";

/// First words of commands that build or test. A criterion that such a command succeeds says nothing: the gate runs it
/// anyway.
constexpr std::array kBuildCommands = std::to_array<std::string_view>({"make",
                                                                       "cmake",
                                                                       "ctest",
                                                                       "ninja",
                                                                       "meson",
                                                                       "cargo",
                                                                       "go test",
                                                                       "go build",
                                                                       "go vet",
                                                                       "npm",
                                                                       "npx",
                                                                       "yarn",
                                                                       "pnpm",
                                                                       "pytest",
                                                                       "python -m pytest",
                                                                       "python3 -m pytest",
                                                                       "uv run pytest",
                                                                       "tox",
                                                                       "vitest",
                                                                       "jest",
                                                                       "mvn",
                                                                       "./mvnw",
                                                                       "mvnw",
                                                                       "gradle",
                                                                       "./gradlew",
                                                                       "gradlew",
                                                                       "bazel",
                                                                       "dotnet"});
constexpr std::array kSuccessWords = std::to_array<std::string_view>(
    {"pass", "green", "succeed", "success", "exits 0", "exit 0", "exit code 0", "works", "no errors"});

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") + 1 - first);
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return result;
}

std::size_t characters(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U; }));
}

std::vector<std::string_view> linesOf(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    auto line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.push_back(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

/// The text of a heading of any level, or nothing: "## Goal ##" -> "Goal".
std::string_view headingOf(std::string_view line) {
  const auto marks = line.find_first_not_of('#');
  if (marks == 0 || marks == std::string_view::npos || marks > 6 || (line[marks] != ' ' && line[marks] != '\t'))
    return {};
  auto text = trimmed(line.substr(marks));
  while (text.ends_with('#'))
    text.remove_suffix(1);
  return trimmed(text);
}

/// The text behind a checkbox `- [ ]`, at any indentation. `found` tells a box with no text from no box.
std::string_view boxOf(std::string_view line, bool& found) {
  auto text = trimmed(line);
  found = text.size() >= 5 && (text[0] == '-' || text[0] == '*' || text[0] == '+') && text.substr(1, 2) == " [" &&
          (text[3] == ' ' || text[3] == 'x' || text[3] == 'X') && text[4] == ']';
  return found ? trimmed(text.substr(5)) : std::string_view();
}

std::vector<std::string> criteriaOf(std::string_view body) {
  std::vector<std::string> criteria;
  bool inside = false;
  bool open = false;  // the criterion before may go on
  std::string_view fence;
  for (const auto line : linesOf(body)) {
    const auto text = trimmed(line);
    const auto mark = text.substr(0, 3);
    if (!fence.empty()) {
      if (mark == fence) fence = {};
      continue;
    }
    if (mark == "```" || mark == "~~~") {
      fence = mark;
      open = false;
      continue;
    }
    if (const auto heading = headingOf(line); !heading.empty()) {
      inside = lower(heading) == kHeading;
      open = false;
      continue;
    }
    if (!inside) continue;
    bool box = false;
    const auto criterion = boxOf(line, box);
    if (box) {
      criteria.emplace_back(criterion);
      open = true;
    } else if (open && !text.empty() && (line.front() == ' ' || line.front() == '\t') && text.front() != '-' &&
               text.front() != '*') {
      criteria.back() += ' ';
      criteria.back() += text;
    } else {
      open = false;
    }
  }
  return criteria;
}

bool isPlaceholder(std::string_view criterion) {
  const auto text = trimmed(criterion);
  return text.empty() || text == "..." || text == "\u2026" || lower(text) == "todo" || lower(text) == "tbd";
}

/// Whether the criterion is that a command of the build succeeds.
bool isBuildCommand(const std::string& criterion) {
  const auto text = lower(criterion);
  if (std::ranges::none_of(kSuccessWords, [&](auto word) { return text.contains(word); })) return false;
  for (auto from = text.find('`'); from != std::string::npos;) {
    const auto to = text.find('`', from + 1);
    if (to == std::string::npos) return false;
    const auto code = trimmed(std::string_view(text).substr(from + 1, to - from - 1));
    for (const auto command : kBuildCommands)
      if (code == command || (code.starts_with(command) && code[command.size()] == ' ')) return true;
    from = text.find('`', to + 1);
  }
  return false;
}

std::string readHeader(std::string_view header, PlanReading& reading) {
  const auto document = agents::parseToml(header, "plan.md");
  if (!document) return "The TOML between the two +++ lines cannot be read: " + document.error() + ".";
  const auto textOf = [&](std::string_view key) {
    const auto* node = document->find(key);
    return node != nullptr && node->kind == agents::TomlNode::Kind::Text ? node->text : std::string();
  };
  reading.kind = textOf("kind");
  reading.summary = std::string(trimmed(textOf("summary")));
  if (const auto* node = document->find("nothing-to-build"); node != nullptr) reading.nothingToBuild = node->boolean;
  if (const auto* node = document->find("modules"); node != nullptr)
    for (const auto& item : node->items)
      if (item.kind == agents::TomlNode::Kind::Text && reading.modules.size() < limits::kPlanCriteria)
        reading.modules.push_back(item.text);
  // Nothing depends on it; a plan is not sent back for it.
  if (reading.kind != "feature" && reading.kind != "bug") reading.kind = "other";
  if (reading.summary.empty()) return "The header needs a summary: one line that says what will be different.";
  if (std::ranges::any_of(reading.summary, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }))
    return "The summary must be one line without control characters.";
  if (const auto size = characters(reading.summary); size > limits::kSummaryCharacters)
    return "The summary has " + std::to_string(size) + " characters; at most " +
           std::to_string(limits::kSummaryCharacters) + " fit into a commit's subject.";
  return {};
}

}  // namespace

PlanReading readPlan(std::string_view plan) {
  PlanReading reading;
  const auto refuse = [&](std::string why) {
    reading.refusal = std::move(why);
    return reading;
  };
  if (trimmed(plan).empty()) return refuse("The plan is empty.");
  if (plan.contains('\0') || g_utf8_validate(plan.data(), static_cast<gssize>(plan.size()), nullptr) == FALSE)
    return refuse("The plan is not UTF-8 text.");
  if (!plan.starts_with("+++\n") && !plan.starts_with("+++\r\n"))
    return refuse("The first line must be +++, then the header in TOML, then +++ again.");
  const auto begin = plan.find('\n') + 1;
  auto end = begin;
  bool closed = false;
  while (end < plan.size() && !closed) {
    const auto stop = std::min(plan.find('\n', end), plan.size());
    closed = trimmed(plan.substr(end, stop - end)) == "+++" && plan[end] == '+';
    if (!closed) end = stop + 1;
  }
  if (!closed) return refuse("The header has no end: a line +++ must follow the TOML.");
  if (auto fault = readHeader(plan.substr(begin, end - begin), reading); !fault.empty())
    return refuse(std::move(fault));

  reading.criteria = criteriaOf(plan.substr(std::min(end + 3, plan.size())));
  if (reading.criteria.empty())
    return refuse(
        "There are no criteria: the plan needs checkboxes (\"- [ ] ...\") below a heading \"## Acceptance criteria\".");
  if (reading.criteria.size() > limits::kPlanCriteria)
    return refuse("There are more than " + std::to_string(limits::kPlanCriteria) + " criteria.");
  for (const auto& criterion : reading.criteria) {
    if (isPlaceholder(criterion))
      return refuse("A criterion is still the placeholder \"" + criterion +
                    "\"; say what can be checked, or take it out.");
    if (isBuildCommand(criterion))
      return refuse(
          "This criterion says only that a command succeeds, which is checked anyway; say what the code does: " +
          criterion);
  }
  return reading;
}

}  // namespace coffer::collector
