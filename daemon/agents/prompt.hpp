#pragma once

#include <array>
#include <expected>
#include <string>
#include <string_view>

#include "agents/data_set.hpp"
#include "agents/turn_brief.hpp"

namespace coffer::agents {

/// One text of `prompts/NAME.md`, checked for placeholders.
struct PromptText {
  static constexpr std::array<std::string_view, 11> kPlaceholders = {
      "task", "title", "base", "branch", "commands", "request", "plan", "problem", "feedback", "review", "comments"};

  std::string text;

  /// The error is one sentence that begins with `FILE:LINE: `.
  static std::expected<PromptText, std::string> read(std::string_view text, std::string_view name,
                                                     std::string_view file);
};

/// The name of the text for a turn: `ROLE-KIND`, in the model's words. The rules every conversation begins with are
/// `rules`.
std::string promptName(model::Role role, model::TurnKind kind);

/// What the agent reads on standard input, also /task/in/request.md: three lines `Role:`, `Turn:`, `Round:`, then the
/// rules for a new conversation, then the turn's text. A text of somebody else is cut at limits::kTextBytes and says
/// so. The error is a sentence: the text is missing.
std::expected<std::string, std::string> renderPrompt(const DataSet<PromptText>& texts, const TurnBrief& brief);

}  // namespace coffer::agents
