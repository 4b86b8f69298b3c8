#include "ui/page_names.hpp"

#include <algorithm>
#include <array>
#include <string>

namespace coffer::cli::ui {

const std::vector<PageName>& pageNames() {
  static const std::vector<PageName> all = {
      {Page::Details, "i", "Details", "Nothing is known of it yet."},
      {Page::Plan, "p", "Plan", "There is no plan yet."},
      {Page::Diff, "d", "Diff", "There is no work to see yet."},
      {Page::Transcript, "l", "Transcript", "No turn has begun yet."},
      {Page::Gate, "o", "Gate", "No gate has begun yet."},
      {Page::Findings, "f", "Findings", "Nothing was found."},
  };
  return all;
}

std::string_view nameOf(Page page) {
  const auto found = std::ranges::find(pageNames(), page, &PageName::page);
  return found == pageNames().end() ? "" : found->name;
}

std::vector<StyledLine> helpLines() {
  static constexpr std::array<std::array<std::string_view, 2>, 20> kKeys = {{
      {"Enter", "open the selected task"},
      {"Esc, q", "back; on the list, leave"},
      {"Up Down, j k", "select, or scroll by a line"},
      {"PageUp PageDown", "by a screen; so does Space"},
      {"Home End, g G", "to the beginning, to the end; a transcript is followed"},
      {"Left Right, h", "to the side"},
      {"Tab", "next page of the task"},
      {"i p d l o f", "details, plan, diff, transcript, gate's output, findings"},
      {"n N", "next, previous change of a diff"},
      {"[ ]", "transcript or output of the run before, after"},
      {"/", "only tasks that hold a text"},
      {"", ""},
      {"a", "accept what was read here; asks, naming the digest"},
      {"b", "accept the work onto a branch"},
      {"r e", "reply here, or in your editor"},
      {"t", "go on with what stands still or failed; asks"},
      {"c", "cancel; asks"},
      {"x", "delete; asks"},
      {"", ""},
      {"Ctrl-L", "draw the screen anew"},
  }};
  std::vector<StyledLine> lines;
  for (const auto& [key, words] : kKeys) {
    if (key.empty()) {
      lines.emplace_back();
      continue;
    }
    auto shown = std::string(key);
    shown.resize(std::max<std::size_t>(shown.size(), 20), ' ');
    lines.push_back({{"  "}, {shown, Tone::Strong}, {std::string(words)}});
  }
  return lines;
}

}  // namespace coffer::cli::ui
