#include "agents/prompt.hpp"

#include <algorithm>

#include "agents/placeholder.hpp"
#include "model/limits.hpp"
#include "model/spelling.hpp"

namespace coffer::agents {
namespace {

/// The word in the prompt's second line. The three kinds of repair are one to an agent: something it left could not be
/// used.
std::string_view turnWord(model::TurnKind kind) {
  switch (kind) {
    case model::TurnKind::PlanRepair:
    case model::TurnKind::NoChange:
    case model::TurnKind::ReviewRepair:
      return "repair";
    default:
      return model::spell(kind);
  }
}

/// A text of somebody else for the prompt: there, without the line ends around it, and not longer than the limit.
std::string shown(const std::string& text) {
  const auto first = text.find_first_not_of("\r\n");
  if (first == std::string::npos) return "(none)";
  auto result = text.substr(first, text.find_last_not_of(" \t\r\n") + 1 - first);
  if (result.size() <= limits::kTextBytes) return result;
  std::size_t end = limits::kTextBytes;
  while (end > 0 && (static_cast<unsigned char>(result[end]) & 0xc0U) == 0x80U)
    --end;
  result.resize(end);
  return result + "\n(cut here: " + std::to_string(text.size()) + " bytes in all)";
}

}  // namespace

std::expected<PromptText, std::string> PromptText::read(std::string_view text, std::string_view,
                                                        std::string_view file) {
  std::size_t line = 1;
  std::size_t from = 0;
  while (from < text.size()) {
    const auto end = std::min(text.find('\n', from), text.size());
    if (const auto unknown = unknownPlaceholder(text.substr(from, end - from), kPlaceholders))
      return std::unexpected(std::string(file) + ":" + std::to_string(line) + ": unknown placeholder {" + *unknown +
                             "}");
    from = end + 1;
    ++line;
  }
  return PromptText{std::string(text)};
}

std::string promptName(model::Role role, model::TurnKind kind) {
  return std::string(model::spell(role)) + "-" + std::string(model::spell(kind));
}

std::expected<std::string, std::string> renderPrompt(const DataSet<PromptText>& texts, const TurnBrief& brief) {
  const auto name = promptName(brief.role, brief.kind);
  const auto* turn = texts.find(name);
  const auto* rules = texts.find("rules");
  if (turn == nullptr || rules == nullptr)
    return std::unexpected("the prompt " + std::string(turn == nullptr ? name : "rules") +
                           ".md is missing or cannot be used");

  const auto task = std::to_string(brief.task);
  std::string commands;
  for (const auto& command : brief.commands)
    commands += "    " + command + "\n";
  commands = commands.empty() ? "    (no commands are set for this project)" : commands.substr(0, commands.size() - 1);
  const auto request = shown(brief.request);
  const auto plan = shown(brief.plan);
  const auto problem = shown(brief.problem);
  const auto feedback = shown(brief.feedback);
  const auto review = shown(brief.review);
  const auto comments = shown(brief.comments);
  const auto values = std::to_array<Placeholder>({{"task", task},
                                                  {"title", brief.title},
                                                  {"base", brief.base},
                                                  {"branch", brief.branch},
                                                  {"commands", commands},
                                                  {"request", request},
                                                  {"plan", plan},
                                                  {"problem", problem},
                                                  {"feedback", feedback},
                                                  {"review", review},
                                                  {"comments", comments}});
  std::string result = "Role: " + std::string(model::spell(brief.role)) +
                       "\nTurn: " + std::string(turnWord(brief.kind)) + "\nRound: " + std::to_string(brief.round) +
                       "\n\n";
  if (brief.newConversation) result += fillPlaceholders(rules->text, values) + "\n";
  return result + fillPlaceholders(turn->text, values);
}

}  // namespace coffer::agents
