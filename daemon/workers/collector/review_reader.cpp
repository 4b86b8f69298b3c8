#include "workers/collector/review_reader.hpp"

#include <algorithm>
#include <memory>
#include <optional>

#include <glib.h>

#include "model/limits.hpp"
#include "workers/collector/json_document.hpp"

namespace coffer::collector {
namespace {

/// The path as it is used further, or nothing when it does not name something in the repository. Reviewers write it as
/// they saw it.
std::optional<std::string> relativePath(std::string path) {
  if (path.starts_with("/src/")) path.erase(0, 5);
  while (path.starts_with("./"))
    path.erase(0, 2);
  if (path.size() > limits::kPathBytes || path.starts_with('/')) return std::nullopt;
  if (std::ranges::any_of(path, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }))
    return std::nullopt;
  for (std::size_t from = 0; from <= path.size();) {
    const auto end = std::min(path.find('/', from), path.size());
    if (path.compare(from, end - from, "..") == 0) return std::nullopt;
    from = end + 1;
  }
  return path;
}

std::string cut(std::string text, std::size_t limit) {
  if (text.size() <= limit) return text;
  auto end = limit;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0U) == 0x80U)
    --end;
  text.resize(end);
  return text + "\u2026";
}

/// Why a finding cannot be read, or nothing.
std::string readFinding(JsonPlace place, Finding& finding) {
  if (!place.isObject()) return "must be an object";
  finding.severity = place.at("/severity").string().value_or("");
  if (finding.severity != "error" && finding.severity != "warning" && finding.severity != "info")
    return "needs a severity of error, warning or info";
  if (const auto path = place.at("/path")) {
    const auto text = path.string();
    const auto relative = text ? relativePath(*text) : std::nullopt;
    if (!relative) return "has a path that is not one inside the repository";
    finding.path = *relative;
  }
  if (const auto line = place.at("/line")) {
    const auto number = line.count();
    if (!number && line.scalar() != "null") return "has a line that is not a whole number";
    finding.line = number.value_or(0);
  }
  const auto title = place.at("/title").string().value_or("");
  if (title.find_first_not_of(" \t\r\n") == std::string::npos) return "needs a title";
  finding.title = cut(title, limits::kFindingTitleBytes);
  std::ranges::replace_if(finding.title, [](char c) { return c == '\n' || c == '\r' || c == '\t'; }, ' ');
  const auto text = place.at("/text");
  if (text && !text.string()) return "has a text that is not a string";
  finding.text = cut(text.string().value_or(""), limits::kFindingTextBytes);
  finding.id = findingId(finding.path, finding.title);
  return {};
}

}  // namespace

std::string findingId(std::string_view path, std::string_view title) {
  std::string text(path);
  text += '\0';
  bool space = false;
  bool any = false;
  for (const char c : title) {
    const bool word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      (static_cast<unsigned char>(c) & 0x80U) != 0;
    if (!word) {
      space = any;
      continue;
    }
    if (space) text += ' ';
    space = false;
    any = true;
    text += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  const std::unique_ptr<char, decltype(&g_free)> digest(
      g_compute_checksum_for_string(G_CHECKSUM_SHA256, text.data(), static_cast<gssize>(text.size())), g_free);
  return std::string(digest.get()).substr(0, 16);
}

ReviewReading readReview(std::string_view json) {
  ReviewReading reading;
  const auto refuse = [&](std::string why) {
    reading.refusal = std::move(why);
    reading.checked.clear();
    reading.findings.clear();
    return reading;
  };
  const auto document = JsonDocument::parse(json);
  if (!document) return refuse("review.json is not JSON: " + document.error() + ".");
  const auto root = document->root();
  if (!root.isObject()) return refuse("review.json must be one object with \"checked\" and \"findings\".");
  const auto checked = root.at("/checked");
  const auto findings = root.at("/findings");
  if (!checked.isArray() || !findings.isArray())
    return refuse("review.json needs \"checked\" and \"findings\", both lists.");
  for (const auto& item : checked.items()) {
    auto sentence = item.string();
    if (!sentence) return refuse("\"checked\" must be a list of sentences.");
    if (sentence->find_first_not_of(" \t\r\n") == std::string::npos) continue;
    reading.checked.push_back(cut(std::move(*sentence), limits::kFindingTextBytes));
  }
  if (reading.checked.empty()) return refuse("\"checked\" needs at least one sentence on what was looked at.");
  const auto items = findings.items();
  if (items.size() > limits::kFindings || reading.checked.size() > limits::kFindings)
    return refuse("There are more than " + std::to_string(limits::kFindings) + " entries; keep what matters.");
  for (std::size_t at = 0; at < items.size(); ++at) {
    Finding finding;
    if (const auto fault = readFinding(items[at], finding); !fault.empty())
      return refuse("Finding " + std::to_string(at + 1) + " " + fault + ".");
    // Two findings with one title in one file are two findings.
    const auto same = std::ranges::count_if(reading.findings,
                                            [&](const Finding& other) { return other.id.substr(0, 16) == finding.id; });
    if (same > 0) finding.id += "-" + std::to_string(same + 1);
    reading.findings.push_back(std::move(finding));
  }
  return reading;
}

}  // namespace coffer::collector
