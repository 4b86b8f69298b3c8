#include "agents/turn_command.hpp"

#include <algorithm>
#include <array>

#include "agents/placeholder.hpp"
#include "model/limits.hpp"

namespace coffer::agents {
namespace {

/// A value that may stand in argv, in a URL and between quotes in JSON and TOML without changing what they mean.
bool isPlainWord(std::string_view text) {
  return text.size() <= limits::kAgentWordBytes && !text.starts_with('-') && std::ranges::all_of(text, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  std::string_view("._:/@+-").find(c) != std::string_view::npos;
         });
}

void set(std::vector<std::pair<std::string, std::string>>& environment, const std::string& name, std::string value) {
  for (auto& [known, old] : environment) {
    if (known != name) continue;
    old = std::move(value);
    return;
  }
  environment.emplace_back(name, std::move(value));
}

}  // namespace

std::vector<std::pair<std::string, std::string>> sandboxEnvironment(std::string_view home) {
  return {
      {"HOME", std::string(home)},
      {"PATH", "/opt/agents/bin:/usr/local/bin:/usr/bin:/usr/sbin"},
      {"USER", "agent"},
      {"LOGNAME", "agent"},
      {"SHELL", "/bin/sh"},
      {"LANG", "C.UTF-8"},
      {"TERM", "dumb"},
      {"TMPDIR", "/tmp"},
      // Nothing waits for a person in a sandbox.
      {"PAGER", "cat"},
      {"GIT_PAGER", "cat"},
      {"GIT_EDITOR", "true"},
      {"GIT_TERMINAL_PROMPT", "0"},
      {"CI", "1"},
      {"NO_COLOR", "1"},
      // Only so that Git commits at all: the candidate gets the person as author and committer.
      {"GIT_AUTHOR_NAME", "Cofferdam agent"},
      {"GIT_AUTHOR_EMAIL", "agent@cofferdam.invalid"},
      {"GIT_COMMITTER_NAME", "Cofferdam agent"},
      {"GIT_COMMITTER_EMAIL", "agent@cofferdam.invalid"},
  };
}

Records TurnCommand::toRecords(std::string_view workingDirectory, std::string_view standardInput) const {
  Records records;
  for (const auto& word : argv)
    records.add("argv", word);
  for (const auto& [name, value] : environment)
    records.add("env", name + "=" + value);
  records.add("cwd", workingDirectory);
  if (!standardInput.empty()) records.add("stdin", standardInput);
  return records;
}

std::expected<void, Error> checkModel(const Descriptor& descriptor, std::string_view model) {
  const bool needsModel = std::ranges::find(descriptor.providers, ProviderKind::None) == descriptor.providers.end();
  if (needsModel && model.empty() && descriptor.modelOption.empty())
    return std::unexpected(
        Error{ErrorCode::InvalidArgument, "agent " + descriptor.name +
                                              ": it does not choose a model by itself; name one with "
                                              "--agent ROLE=" +
                                              descriptor.name + ":MODEL"});
  if (!isPlainWord(model))
    return std::unexpected(
        Error{ErrorCode::InvalidArgument,
              "agent " + descriptor.name + ": this cannot be the name of a model: " + std::string(model)});
  return {};
}

std::expected<TurnCommand, Error> buildTurnCommand(const Descriptor& descriptor, const TurnInput& input) {
  const auto refuse = [&](ErrorCode code, const std::string& message) {
    return std::unexpected(Error{code, "agent " + descriptor.name + ": " + message});
  };
  if (auto named = checkModel(descriptor, input.model); !named) return std::unexpected(named.error());
  if (!isPlainWord(input.session)) return refuse(ErrorCode::InvalidArgument, "its session is not one plain word");
  if (!isPlainWord(input.dummyKey) || !isPlainWord(input.endpoint) || !isPlainWord(input.home))
    return refuse(ErrorCode::Internal, "key, endpoint or home is not one plain word");
  if (!input.session.empty() && descriptor.resume.empty())
    return refuse(ErrorCode::Unsupported, "it cannot go on with a conversation: its descriptor has no resume");

  const auto values = std::to_array<Placeholder>({{"model", input.model},
                                                  {"endpoint", input.endpoint},
                                                  {"key", input.dummyKey},
                                                  {"session", input.session},
                                                  {"home", input.home},
                                                  {"files", kTurnFilesFolder}});
  TurnCommand result;
  auto words = input.session.empty() ? descriptor.command : descriptor.resume;
  const bool agentChooses = input.model.empty() && !descriptor.modelOption.empty();
  if (agentChooses) {
    const auto option = std::ranges::search(words, descriptor.modelOption);
    words.erase(option.begin(), option.end());
  }
  for (const auto& word : words)
    result.argv.push_back(fillPlaceholders(word, values));
  result.environment = sandboxEnvironment(input.home);
  for (const auto& [name, value] : descriptor.environment)
    if (!agentChooses || !hasPlaceholder(value, "model"))
      set(result.environment, name, fillPlaceholders(value, values));
  for (const auto& file : descriptor.files)
    result.files.emplace_back(file.name, fillPlaceholders(file.content, values));
  return result;
}

}  // namespace coffer::agents
