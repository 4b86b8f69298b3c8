#pragma once

#include <array>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agents/protocol.hpp"

namespace coffer::agents {

/// What an agent speaks to its model; None: it needs no model.
enum class ProviderKind { OpenAiResponses, OpenAiChat, Anthropic, None };

std::string_view providerKindName(ProviderKind kind);

/// Every provider kind with its word, as descriptors and provider files spell it.
inline constexpr std::array kProviderKinds =
    std::to_array<std::pair<ProviderKind, std::string_view>>({{ProviderKind::OpenAiResponses, "openai-responses"},
                                                              {ProviderKind::OpenAiChat, "openai-chat"},
                                                              {ProviderKind::Anthropic, "anthropic"},
                                                              {ProviderKind::None, "none"}});

/// A file the agent finds read-only below /task/in/files/ when its turn starts.
struct DescriptorFile {
  std::string name;     ///< one component, [a-z0-9._-]
  std::string content;  ///< with placeholders
};

/// One agent's command line as data: `agents/NAME.toml`. Read from files of the machine's administrator only.
struct Descriptor {
  /// What may stand in argv, environment and files. {files} is the folder of `files` inside the sandbox.
  static constexpr std::array<std::string_view, 6> kPlaceholders = {"model",   "endpoint", "key",
                                                                    "session", "home",     "files"};

  std::string name;        ///< the file's name without .toml
  std::string title;       ///< for people
  std::string executable;  ///< the first word of `command`, an absolute path: the agent is installed when this exists
  std::vector<std::string> version;     ///< argv that prints the version
  std::vector<ProviderKind> providers;  ///< in order of preference
  std::vector<std::string> command;     ///< argv of a new conversation's turn; the request is on standard input
  std::vector<std::string> resume;      ///< argv of a later turn, with {session}
  /// The words of `command` and `resume`, one after the other, that are left out when no model is named, and with them
  /// what is set in the environment with {model}: the agent then chooses. Empty: it needs a model's name.
  std::vector<std::string> modelOption;
  std::vector<std::pair<std::string, std::string>> environment;
  std::vector<DescriptorFile> files;
  Protocol protocol;
};

/// Reads one descriptor. The error is one sentence that begins with `FILE:LINE: `; unknown keys and placeholders are
/// errors.
std::expected<Descriptor, std::string> readDescriptor(std::string_view text, std::string_view name,
                                                      std::string_view file);

/// Why it cannot be run on this machine (`TITLE is not installed: PATH is not there.`), with what to do; nothing when
/// it can. What runs in a sandbox is what it finds at that path in the host's /usr or /opt/agents.
std::optional<std::string> notInstalled(const Descriptor& descriptor);

}  // namespace coffer::agents
